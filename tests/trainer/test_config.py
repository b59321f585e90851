from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from acidtest.envs import UserError
from acidtest.trainer.config import DEMO_CONFIG, TrainConfig, describe, load_config


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('model = "toy"\nlearning_rat = 1e-4\n', ["learning_rat", "learning_rate"]),
        ('model = "toy"\nnum_generation = 4\n', ["num_generation", "num_generations"]),
        ("max_steps = 3\n", ["model", "missing"]),
        ('model = "toy"\nnum_generations = 1\n', ["num_generations", "1", "2"]),
        ('model = "toy"\nlearning_rate = "fast"\n', ["learning_rate", "fast"]),
        ('model = "toy"\nloss_type = "gpro"\n', ["loss_type", "gpro", "grpo"]),
        ('model = ""\n', ["model", "empty"]),
        ('model = "some/model"\nwarm_start_steps = 3\n', ["warm_start_steps", "some/model"]),
        ("model = \n", ["run.toml", "TOML"]),
    ],
)
def test_a_mistake_is_one_sentence_that_names_it(tmp_path: Path, text: str, says: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        load_config(written(tmp_path, text))
    message = str(caught.value)
    assert "\n" not in message
    for part in ["run.toml", *says]:
        assert part in message


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"model = '\xff'")
    with pytest.raises(UserError, match="not valid TOML"):
        load_config(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.toml"):
        load_config(tmp_path / "nowhere.toml")


def test_the_demo_is_a_valid_configuration() -> None:
    assert load_config(DEMO_CONFIG).env == "arithmetic"


def test_every_field_says_what_it_is() -> None:
    undocumented = [name for name, field in TrainConfig.model_fields.items() if not field.description]
    assert undocumented == []


def test_describe_names_the_field_and_the_value() -> None:
    with pytest.raises(ValidationError) as caught:
        TrainConfig(model="toy", epsilon=1.5)
    assert describe(caught.value).startswith("epsilon = 1.5: ")
