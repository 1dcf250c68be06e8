package io.rdmaraw.queue;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The MTU of the link behind a device. The {@code active_mtu} of the verbs knows only InfiniBand's five sizes, so the
 * Linux network device is asked.
 */
public final class LinkMtu {
    /** Ethernet's own, and the one of a {@code soft:loop} device, which has no network device behind it. */
    public static final int DEFAULT_BYTES = 1500;
    private static final Path NETWORK_DEVICES = Path.of("/sys/class/net");
    private static final Path RDMA_DEVICES = Path.of("/sys/class/infiniband");

    private LinkMtu() {
    }

    /**
     * Returns the MTU in bytes: of the frame without the Ethernet header, VLAN tag and FCS.
     *
     * @param deviceName as in {@code VerbsDevices.open}
     */
    public static int ofDevice(String deviceName) {
        if (deviceName.startsWith("soft:xdp:") || deviceName.startsWith("soft:packet:")) {
            return ofNetworkDevice(deviceName.substring(deviceName.lastIndexOf(':') + 1));
        }
        if (Files.exists(NETWORK_DEVICES.resolve(deviceName))) {
            return ofNetworkDevice(deviceName);
        }
        Path networkDevices = RDMA_DEVICES.resolve(deviceName).resolve("device/net");
        if (!Files.isDirectory(networkDevices)) {
            return DEFAULT_BYTES;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(networkDevices)) {
            for (Path entry : entries) {
                return ofNetworkDevice(entry.getFileName().toString());
            }
            return DEFAULT_BYTES;
        } catch (IOException e) {
            return DEFAULT_BYTES;
        }
    }

    private static int ofNetworkDevice(String name) {
        try {
            return Integer.parseInt(Files.readString(NETWORK_DEVICES.resolve(name).resolve("mtu")).trim());
        } catch (IOException | NumberFormatException e) {
            return DEFAULT_BYTES;
        }
    }
}
