package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;

/**
 * The properties of a port that verbs lacks: the MAC address and the MTU. softverbs has calls of its own for them; on
 * rdma-core the network interface behind the port, which the GID table names, knows them.
 */
final class PortInterface {
    /** As libibverbs finds it: an emulated device describes itself in a tree of its own. */
    private static final Path SYSFS = Path.of(System.getenv().getOrDefault("SYSFS_PATH", "/sys"));
    private static final Path RDMA_DEVICES = SYSFS.resolve("class/infiniband");
    private static final Path NETWORK_DEVICES = SYSFS.resolve("class/net");
    private static final int MAC_LENGTH_BYTES = 6;

    private PortInterface() {
    }

    static byte[] macAddress(VerbsContext context, int port) {
        long function = context.library.extra("softverbs_get_mac");
        if (function == 0) {
            return HexFormat.ofDelimiter(":").parseHex(attribute(context, port, "address"));
        }
        try (Arena arena = Arena.ofConfined()) {
            long mac = arena.allocate(Long.BYTES, Long.BYTES).address();
            VerbsException.check("softverbs_get_mac", NativeCall.status(function, context.openAddress(), mac), "");
            byte[] bytes = new byte[MAC_LENGTH_BYTES];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = NativeMemory.getByte(mac + i);
            }
            return bytes;
        }
    }

    static int mtuBytes(VerbsContext context, int port) {
        long function = context.library.extra("softverbs_get_mtu");
        if (function == 0) {
            return Integer.parseInt(attribute(context, port, "mtu"));
        }
        try (Arena arena = Arena.ofConfined()) {
            long mtu = arena.allocate(Integer.BYTES, Integer.BYTES).address();
            VerbsException.check("softverbs_get_mtu", NativeCall.status(function, context.openAddress(), mtu), "");
            return NativeMemory.getInt(mtu);
        }
    }

    private static String attribute(VerbsContext context, int port, String name) {
        return attribute(RDMA_DEVICES, NETWORK_DEVICES, context.providerDeviceName(), port, name);
    }

    static String attribute(Path rdmaDevices, Path networkDevices, String device, int port, String name) {
        Path entry = rdmaDevices.resolve(device).resolve("ports/" + port + "/gid_attrs/ndevs/0");
        try {
            String interfaceName = Files.readString(entry).strip();
            return Files.readString(networkDevices.resolve(interfaceName).resolve(name)).strip();
        } catch (IOException e) {
            throw new VerbsException("ibv_query_gid", Errno.ENODEV, "port " + port + " of " + device
                    + " has no network interface that could tell its " + name + " (" + e.getMessage()
                    + "): is the interface there, and up?");
        }
    }
}
