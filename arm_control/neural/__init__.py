"""Dynamical systems in spiking neurons: linear systems, synapses, the point attractor, populations of neurons."""
