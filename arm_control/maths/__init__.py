"""Mathematics over any scalar: what laws and recursions are written in."""
