"""Samplers: transformers anywhere."""

from .base import Sample, Sampler, SampleRequest, SamplingParams, derive_seed

__all__ = ["Sample", "SampleRequest", "Sampler", "SamplingParams", "derive_seed"]
