"""Identification: friction, rotors, payload and links of an arm from its recording, and motions that show them."""
