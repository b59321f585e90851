from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.envs import UserError
from acidtest.trainer.command import main, parse
from acidtest.trainer.config import DEMO_CONFIG, load_config

SMALL = """
model = "toy"
env = "echo"
max_steps = 1
prompts_per_step = 2
num_generations = 2
max_prompt_length = 8
max_completion_length = 2
eval_tasks = 4
device = "cpu"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_without_arguments_it_is_the_demo() -> None:
    assert parse([]) == load_config(DEMO_CONFIG)


def test_flags_change_the_demo_unless_they_name_a_model_or_an_environment() -> None:
    assert parse(["--max-steps", "3"]) == load_config(DEMO_CONFIG).model_copy(update={"max_steps": 3})
    own = parse(["--model", "some/model", "--env", "countdown"])
    assert (own.model, own.env, own.warm_start_steps, own.env_options) == ("some/model", "countdown", 0, {})


def test_flags_go_over_the_file(small: Path) -> None:
    parsed = parse([str(small), "--learning-rate", "0.5", "--epsilon-high", "0.3", "--resume"])
    assert (parsed.learning_rate, parsed.epsilon_high, parsed.resume, parsed.max_steps) == (0.5, 0.3, True, 1)


def test_environment_options_merge_into_the_files(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(SMALL + "[env_options]\nsize = 30\nheld_out = 4\n")
    assert parse([str(path), "--env-option", "size=31"]).env_options == {"size": 31, "held_out": 4}


@pytest.mark.parametrize(
    ("flag", "nearest"),
    [("--learning-rat", "--learning-rate"), ("--num_generation", "--num-generations"), ("--seeed=3", "--seed")],
)
def test_a_misspelt_flag_is_refused_with_the_nearest_name(flag: str, nearest: str) -> None:
    with pytest.raises(UserError, match=nearest):
        parse([flag])


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--num-generations", "1"], ["num_generations", "1"]),
        (["--epsilon", "1.5"], ["epsilon", "1.5"]),
        (["--env-option", "size"], ["size", "key=value"]),
    ],
)
def test_a_value_that_does_not_fit_is_one_sentence(small: Path, flags: list[str], says: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        parse([str(small), *flags])
    assert all(part.lower() in str(caught.value).lower() for part in says)


def test_a_value_of_the_wrong_type_ends_with_code_2(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse([str(small), "--max-steps", "many"])
    assert caught.value.code == 2
    assert "many" in capsys.readouterr().err


def test_the_last_lines_say_how_it_went_and_where_it_is(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert main([str(small), "--output-dir", str(folder)]) == 0
    told, where = capsys.readouterr().out.splitlines()[-2:]
    assert told.startswith("held-out accuracy 0.000 -> 0.")
    assert str(folder) in where
    assert str(folder / "final") in where
