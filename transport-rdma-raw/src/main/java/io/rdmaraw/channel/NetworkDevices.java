package io.rdmaraw.channel;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Which Linux network interface a device is. */
final class NetworkDevices {
    private static final Path RDMA_DEVICES = Path.of("/sys/class/infiniband");

    private NetworkDevices() {
    }

    /**
     * Returns the name of the network interface.
     *
     * @param deviceName as {@link RdmaRawAddress} names devices
     */
    static String ofDevice(String deviceName) throws IOException {
        if (deviceName.startsWith("soft:")) {
            return deviceName.substring(deviceName.lastIndexOf(':') + 1);
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
