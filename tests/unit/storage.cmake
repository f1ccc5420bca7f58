# Unit tests of storage.
