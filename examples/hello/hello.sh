# Ten greetings, one a second. The image is where CONTAINER_SANDBOX_MOUNT_POINT says.
echo "my image is at $CONTAINER_SANDBOX_MOUNT_POINT"
for n in 1 2 3 4 5 6 7 8 9 10; do
    echo "$GREETING ($n)"
    sleep 1
done
