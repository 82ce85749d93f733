"""Trackers are told how a cell goes. Files stay the truth: no error of a tracker harms a run."""

from ark.run.trackers.guard import Careful, NoTracker, leave
from ark.run.trackers.tensorboard import TensorboardTracker
from ark.run.trackers.wandb import WandbTracker

__all__ = ["Careful", "NoTracker", "TensorboardTracker", "WandbTracker", "leave"]
