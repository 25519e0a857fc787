from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr


class Model(BaseModel):
    """What an answer of a server holds. Fields that a newer server adds are kept."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    _etag: str | None = PrivateAttr(default=None)

    @property
    def etag(self) -> str | None:
        """Names the version that was read, for `if_match`. None where the server gave none, as in a list."""
        return self._etag

    def to_json(self) -> dict[str, Any]:
        """What the server sent, with the names that it has there."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
