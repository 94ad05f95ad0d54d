@rem Three greetings. The image is where CONTAINER_SANDBOX_MOUNT_POINT says.
@echo my image is at %CONTAINER_SANDBOX_MOUNT_POINT%
@for /l %%n in (1,1,3) do @echo %GREETING% (%%n)
