"""Whether states and motions of an arm are free of contact, without a gap between samples."""
