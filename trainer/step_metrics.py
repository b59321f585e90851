"""The figures of one rollout, by TRL's names where they mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .groups import Group


def rollout_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Rewards, parts, accuracy, lengths and verdicts of all completions; unavailable ones count in none but their own.

    `reward_std` and `frac_reward_zero_std` are over groups, as in TRL. Names whose figure has no data are absent.
    """
    scores = [score for group in groups for score in group.scores]
    samples = [sample for group in groups for sample in group.samples]
    known = [score for score in scores if score.reward is not None]
    figures: dict[str, Any] = {"unavailable": len(scores) - len(known), "reward": 0.0}
    if known:
        figures["reward"] = _mean([score.reward for score in known])
        spreads = [spread for group in groups if (spread := _spread(group)) is not None]
        figures["reward_std"] = _mean(spreads)
        figures["frac_reward_zero_std"] = _mean([spread < 1e-6 for spread in spreads])
        marks = [score.correct for score in known if score.correct is not None]
        if marks:
            figures["accuracy"] = _mean(marks)
        for name in sorted({part for score in known for part in score.parts}):
            values = torch.tensor([score.parts[name] for score in known if name in score.parts], dtype=torch.float64)
            figures[f"rewards/{name}/mean"] = values.mean()
            figures[f"rewards/{name}/std"] = values.std(correction=0)
    lengths = [len(sample.token_ids) for sample in samples]
    ended = [len(sample.token_ids) for sample in samples if sample.finish_reason == "stop"]
    figures["completions/mean_length"] = _mean(lengths)
    figures["completions/clipped_ratio"] = 1 - len(ended) / max(len(samples), 1)
    if ended:
        figures["completions/mean_terminated_length"] = _mean(ended)
    return {name: float(value) for name, value in figures.items()}


def completion_rows(
    step: int, groups: Sequence[Group], prompts: Sequence[Any], advantages: Sequence[torch.Tensor | None]
) -> list[dict[str, Any]]:
    """One row for completions.jsonl a completion; its advantage is null when it took no part in the step."""
    rows = []
    for group, prompt, advantages_G in zip(groups, prompts, advantages, strict=True):
        for place, (sample, score) in enumerate(zip(group.samples, group.scores, strict=True)):
            took_part = advantages_G is not None and score.reward is not None
            rows.append(
                {
                    "step": step,
                    "id": group.task.id,
                    "prompt": prompt,
                    "completion": sample.text,
                    "reward": score.reward,
                    "correct": score.correct,
                    "verdict": score.verdict,
                    "parts": dict(score.parts),
                    "detail": score.detail,
                    "advantage": float(advantages_G[place]) if took_part and advantages_G is not None else None,
                    "tokens": len(sample.token_ids),
                    "finish_reason": sample.finish_reason,
                }
            )
    return rows


def _spread(group: Group) -> float | None:
    rewards_G = group.rewards_G()
    known = rewards_G[~torch.isnan(rewards_G)]
    return float(known.std(correction=0)) if len(known) else None


def _mean(values: Sequence[Any]) -> float:
    return sum(map(float, values)) / max(len(values), 1)
