package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.port.PortInterfaces;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.HexFormat;

/**
 * Properties of a port's network interface that verbs does not report: name, MAC address and MTU. softverbs
 * exports functions for them. For rdma-core devices they are read from the kernel, which fails if the interface
 * is in another network namespace.
 */
final class PortInterfaceProperties {
    /** The system property with the MTU of ports without a visible network interface. */
    static final String MTU_PROPERTY = "io.rdmaraw.mtuBytes";
    private static final int MAC_LENGTH_BYTES = 6;
    /** {@code IBV_MTU_256} has the value 1, and each further value doubles the MTU. */
    private static final int HALF_OF_FIRST_MTU = 128;

    private PortInterfaceProperties() {
    }

    /** Returns the name of a port's network interface, or null if it is not visible. */
    static String name(VerbsContext context, int port) {
        DeviceName name = new DeviceName(context.deviceName());
        if (name.isSoftware()) {
            return name.isLoopback() ? null : name.interfaceName();
        }
        return PortInterfaces.ofHost().interfaceOf(context.providerDeviceName(), port);
    }

    static byte[] macAddress(VerbsContext context, int port) {
        long function = context.library.optionalFunction("softverbs_get_mac");
        if (function == 0) {
            String name = name(context, port);
            if (name == null) {
                throw interfaceNotVisible(context, port, "its MAC address is not known");
            }
            return HexFormat.ofDelimiter(":").parseHex(attribute(context, port, name, "address"));
        }
        try (Arena arena = Arena.ofConfined()) {
            long mac = arena.allocate(Long.BYTES, Long.BYTES).address();
            VerbsException.check("softverbs_get_mac", NativeCall.status(function, context.nativeAddress(), mac), "");
            byte[] bytes = new byte[MAC_LENGTH_BYTES];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = NativeMemory.getByte(mac + i);
            }
            return bytes;
        }
    }

    static int mtuBytes(VerbsContext context, int port) {
        long function = context.library.optionalFunction("softverbs_get_mtu");
        if (function == 0) {
            String name = name(context, port);
            return name != null ? Integer.parseInt(attribute(context, port, name, "mtu"))
                    : mtuWithoutInterface(context, port);
        }
        try (Arena arena = Arena.ofConfined()) {
            long mtu = arena.allocate(Integer.BYTES, Integer.BYTES).address();
            VerbsException.check("softverbs_get_mtu", NativeCall.status(function, context.nativeAddress(), mtu), "");
            return NativeMemory.getInt(mtu);
        }
    }

    /** The active MTU is the MTU of the interface rounded down to an InfiniBand MTU, for example 1024 for 1500. */
    private static int mtuWithoutInterface(VerbsContext context, int port) {
        return Integer.getInteger(MTU_PROPERTY, HALF_OF_FIRST_MTU << context.queryPort(port).activeMtu());
    }

    private static String attribute(VerbsContext context, int port, String interfaceName, String attribute) {
        try {
            return PortInterfaces.ofHost().attribute(interfaceName, attribute);
        } catch (IOException e) {
            throw interfaceNotVisible(context, port, "the " + attribute + " of " + interfaceName + " cannot be read ("
                    + e.getMessage() + ')');
        }
    }

    private static VerbsException interfaceNotVisible(VerbsContext context, int port, String consequence) {
        return new VerbsException("ibv_query_port", Errno.ENODEV, "the network interface of port " + port + " of "
                + context.deviceName() + " is not in this network namespace, so " + consequence
                + "; move it here (ip link set DEV netns PID), or configure a userspace host (userspaceAddress)");
    }
}
