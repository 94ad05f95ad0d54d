@rem The image is where CONTAINER_SANDBOX_MOUNT_POINT says.
@echo %GREETING% at %CONTAINER_SANDBOX_MOUNT_POINT%
@type conf\settings.ini
