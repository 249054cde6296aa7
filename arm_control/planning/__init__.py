"""Planning: paths and motions free of contact, along tasks too, timed within limits and executed."""
