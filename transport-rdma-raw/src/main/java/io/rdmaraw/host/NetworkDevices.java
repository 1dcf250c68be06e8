package io.rdmaraw.host;

import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Which Linux network interface a device is. */
public final class NetworkDevices {
    private static final Path RDMA_DEVICES = Path.of("/sys/class/infiniband");

    private NetworkDevices() {
    }

    /**
     * Returns the name of the network interface.
     *
     * @param deviceName such as {@code mlx5_0} or {@code soft:xdp:eth0}
     */
    public static String ofDevice(String deviceName) throws IOException {
        DeviceName name = new DeviceName(deviceName);
        if (name.isSoftware()) {
            return name.interfaceName();
        }
        Path networkDevices = RDMA_DEVICES.resolve(deviceName).resolve("device/net");
        if (!Files.isDirectory(networkDevices)) {
            return deviceName;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(networkDevices)) {
            for (Path entry : entries) {
                return entry.getFileName().toString();
            }
        }
        throw new IOException("the RDMA device " + deviceName + " has no network interface; see " + networkDevices);
    }
}
