"""A place for the tests of one cloud's own manners: whatever is said there is looked through for secrets."""
import filecmp

from harness import Place


class CloudPlace(Place):
    """`secrets`: parts of what must never be said. More names are the environment's."""

    def __init__(self, path, store, secrets, **environment):
        super().__init__(path, store=store, environment=environment)
        self.secrets = secrets

    def query(self, *arguments, **environment):
        result = super().query(*arguments, **environment)
        for secret in self.secrets:
            assert secret not in result.out + result.err
        return result

    def done(self, verb, *arguments):
        """What a verb says that has to succeed."""
        result = self.verb(verb, *arguments)
        assert result.code == 0, result
        return result.out

    def refused(self, verb, *arguments):
        """What a verb says that has to fail."""
        result = self.verb(verb, *arguments)
        assert result.code != 0 and result.err, result
        return result.err

    def round_trip(self, source):
        """Three processes: saved, listed, restored."""
        self.done("save", source)
        assert "000001-000001" in self.done("list")
        self.done("restore", "000001-000001", self.path / "back")
        assert filecmp.cmp(source / "weights.bin", self.path / "back" / "weights.bin", shallow=False)
        assert (self.path / "back" / "deep" / "state.txt").read_text() == "step 7\n"
