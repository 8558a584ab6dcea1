"""Settings: one frozen value from ``PERFDB_*`` variables and ``perfdb.toml`` in the state folder."""

import os
from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from perfdb.errors import PerfdbError


def default_home() -> Path:
    """Where state lies unless ``PERFDB_HOME`` says otherwise: one folder a user, shared by all checkouts."""
    if os.environ.get("PERFDB_HOME"):
        return Path(os.environ["PERFDB_HOME"]).expanduser().absolute()
    return Path("/var/lib/perfdb") if os.geteuid() == 0 else user_data_path("perfdb")


class Settings(BaseSettings):
    """What a person may choose. Environment variables win over the file."""

    model_config = SettingsConfigDict(env_prefix="PERFDB_", frozen=True, extra="ignore")

    home: Path = Field(default_factory=default_home)
    database_url: str | None = None
    postgres_bin: Path | None = None
    dashboard_port: int | None = Field(default=None, ge=1, le=65535)

    @property
    def spool(self) -> Path:
        """Folder of runs waiting to be ingested."""
        return self.home / "spool"

    @property
    def ingested(self) -> Path:
        """Folder of spool files that the store has."""
        return self.home / "spool" / "ingested"

    @property
    def backups(self) -> Path:
        """Folder of the database's backups, unless a command names another."""
        return self.home / "backup"

    @property
    def logs(self) -> Path:
        """Folder of the logs of the server and the dashboard."""
        return self.home / "log"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then the file."""
        file = TomlConfigSettingsSource(settings_cls, default_home() / "perfdb.toml")
        return init_settings, env_settings, file


def load_settings() -> Settings:
    """The settings of this process. Raises ``PerfdbError`` naming the variable that is wrong."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "PERFDB_" + str(first["loc"][0]).upper()
        raise PerfdbError(f"{name} is wrong: {first['msg'].lower()}; correct it and run again") from error
    except ValueError as error:
        raise PerfdbError(f"{default_home() / 'perfdb.toml'} cannot be read: {error}; correct or remove it") from error
