"""A box of 216 Lennard-Jones atoms, as the user's guide saves it: a checkpoint, a table and a trajectory."""
import os
import sys

import openmm
from openmm import app, unit

os.chdir(sys.argv[1])
topology, system, positions = app.Topology(), openmm.System(), []
force = openmm.NonbondedForce()
force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
force.setCutoffDistance(0.8)
system.setDefaultPeriodicBoxVectors((2.4, 0, 0), (0, 2.4, 0), (0, 0, 2.4))
system.addForce(force)
residue = topology.addResidue("AR", topology.addChain())
for place in range(216):
    topology.addAtom("Ar", app.Element.getBySymbol("Ar"), residue)
    system.addParticle(39.9)
    force.addParticle(0, 0.34, 1.0)
    positions.append((0.4 * (place % 6), 0.4 * (place // 6 % 6), 0.4 * (place // 36)))
simulation = app.Simulation(topology, system, openmm.LangevinMiddleIntegrator(120, 1, 0.002),
                            openmm.Platform.getPlatformByName("CPU"), {"Threads": "1"})
more = os.path.exists("state.chk")
if more:
    simulation.loadCheckpoint("state.chk")
else:
    simulation.context.setPositions(positions * unit.nanometer)
print("resumed", simulation.currentStep, flush=True)
simulation.reporters += [app.DCDReporter("traj.dcd", 200, append=more), app.CheckpointReporter("state.chk", 1000),
                         app.StateDataReporter("table.csv", 200, step=True, potentialEnergy=True, append=more)]
simulation.step(100000000)
