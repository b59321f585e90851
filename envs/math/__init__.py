"""Mathematics: problems with one answer, compared symbolically."""

from .environment import MathEnvironment, math

__all__ = ["MathEnvironment", "math"]
