"""Find, read and check the configuration of a Workers project, and Stepwell's own settings.

Start with `open_project`: it returns the settings in force and the project, or raises `ConfigError` with all
errors. Warnings are returned with the project; nothing is printed or written.
"""

from stepwell.emulator.config.compatibility import CompatFlags as CompatFlags
from stepwell.emulator.config.find import ConfigLocation as ConfigLocation
from stepwell.emulator.config.find import find_config as find_config
from stepwell.emulator.config.model import DevConfig as DevConfig
from stepwell.emulator.config.model import ServiceConfig as ServiceConfig
from stepwell.emulator.config.model import WorkerConfig as WorkerConfig
from stepwell.emulator.config.model import WorkflowConfig as WorkflowConfig
from stepwell.emulator.config.problems import ConfigError as ConfigError
from stepwell.emulator.config.problems import Problem as Problem
from stepwell.emulator.config.problems import class_not_exported as class_not_exported
from stepwell.emulator.config.problems import near_matches as near_matches
from stepwell.emulator.config.problems import not_a_workflow as not_a_workflow
from stepwell.emulator.config.project import DevServerOpened as DevServerOpened
from stepwell.emulator.config.project import Opened as Opened
from stepwell.emulator.config.project import Project as Project
from stepwell.emulator.config.project import load_project as load_project
from stepwell.emulator.config.project import open_dev_server as open_dev_server
from stepwell.emulator.config.project import open_project as open_project
from stepwell.emulator.config.project import read_project as read_project
from stepwell.emulator.config.settings import Settings as Settings
