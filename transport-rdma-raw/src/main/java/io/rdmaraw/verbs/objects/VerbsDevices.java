package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceLayout;
import io.rdmaraw.verbs.port.PortInterfaces;
import io.rdmaraw.verbs.port.RdmaPort;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * Lists devices and opens them by name. {@link DeviceName} describes the forms of a name.
 * <pre>{@code
 * try (VerbsContext device = VerbsDevices.open("soft:xdp:eth0")) {
 *     System.out.println(device.queryDevice().firmwareVersion());
 * }
 * }</pre>
 */
public final class VerbsDevices {
    static final int MAX_NAME_BYTES = 64;

    private VerbsDevices() {
    }

    /** Returns the names of the devices that can be opened now. A provider that is not usable contributes none. */
    public static List<String> names() {
        List<String> names = new ArrayList<>(namesOf(VerbsLibrary::rdmaCore, ""));
        names.addAll(namesOf(VerbsLibrary::softverbs, DeviceName.SOFT_PREFIX));
        return names;
    }

    /** Returns why softverbs is not usable, or null if it is. */
    public static VerbsException softwareUnavailabilityCause() {
        try {
            VerbsLibrary.softverbs();
            return null;
        } catch (VerbsException e) {
            return e;
        }
    }

    /**
     * Returns the address of a softverbs function that libibverbs does not have, or 0 if softverbs is not
     * usable.
     */
    public static long softverbsFunction(String name) {
        return softwareUnavailabilityCause() == null ? VerbsLibrary.softverbs().optionalFunction(name) : 0;
    }

    /**
     * Opens a device.
     *
     * @param deviceName a name in one of the forms of {@link DeviceName}
     * @throws VerbsException if the device does not exist (the message lists the existing ones) or cannot be
     *         opened
     */
    public static VerbsContext open(String deviceName) {
        if (new DeviceName(deviceName).isSoftware()) {
            return openSoft(deviceName);
        }
        if (!VerbsLibrary.isRdmaCoreUsable() && isPlainInterface(PortInterfaces.ofHost(), deviceName)) {
            // The message must not suggest installing rdma-core, which would not help.
            throw unknown(deviceName);
        }
        VerbsLibrary library = VerbsLibrary.rdmaCore();
        PortInterfaces interfaces = PortInterfaces.ofHost();
        String problem = interfaces.bondProblem(deviceName);
        if (problem != null) {
            throw new VerbsException("ibv_open_device", Errno.EOPNOTSUPP, problem);
        }
        RdmaPort port = interfaces.isDevice(deviceName) ? new RdmaPort(deviceName, interfaces.ownPortOf(deviceName))
                : interfaces.portOf(deviceName);
        if (port == null && !interfaces.isInterface(deviceName)) {
            // Libibverbs also lists devices that sysfs does not show, for example in a sandbox without it.
            port = new RdmaPort(deviceName, interfaces.ownPortOf(deviceName));
        }
        VerbsContext context = port == null ? null : openListed(library, port, deviceName);
        if (context == null) {
            throw unknown(deviceName);
        }
        return context;
    }

    /** Returns whether the name is a network interface without an RDMA device. */
    private static boolean isPlainInterface(PortInterfaces interfaces, String name) {
        return interfaces.isInterface(name) && interfaces.portOf(name) == null;
    }

    private static VerbsContext openSoft(String deviceName) {
        VerbsLibrary library = VerbsLibrary.softverbs();
        String name = new DeviceName(deviceName).providerName();
        RdmaPort port = new RdmaPort(name, 1);
        VerbsContext context = openListed(library, port, deviceName);
        if (context == null && !name.isEmpty() && library.addDevice(name)) {
            context = openListed(library, port, deviceName);
            if (context == null) {
                throw new VerbsException("ibv_open_device", Errno.ENODEV, "cannot open " + deviceName
                        + ": there is no network interface '" + name.substring(name.indexOf(':') + 1)
                        + "' in this network namespace");
            }
        }
        if (context == null) {
            throw unknown(deviceName);
        }
        return context;
    }

    private static VerbsException unknown(String deviceName) {
        return new VerbsException("ibv_get_device_list", Errno.ENODEV, unknownDeviceReason(PortInterfaces.ofHost(),
                deviceName));
    }

    static String unknownDeviceReason(PortInterfaces interfaces, String deviceName) {
        if (new DeviceName(deviceName).isSoftware()) {
            return "there is no software device \"" + deviceName + "\"; there are soft:loop, soft:loop:NAME,"
                    + " soft:xdp:NETDEV and soft:packet:NETDEV, where NETDEV is a network interface such as eth0";
        }
        if (interfaces.isInterface(deviceName)) {
            return "the network interface \"" + deviceName + "\" has no RDMA device behind it; soft:xdp:" + deviceName
                    + " (AF_XDP) and soft:packet:" + deviceName + " (AF_PACKET) run on it";
        }
        List<String> names = names();
        return "there is no RDMA device \"" + deviceName + "\", nor a network interface of this name; "
                + (names.isEmpty() ? "there are none at all" : "there are: " + String.join(", ", names)
                + ", and soft:xdp:NETDEV on any network interface");
    }

    private static List<String> namesOf(Supplier<VerbsLibrary> provider, String prefix) {
        try (DeviceList list = new DeviceList(provider.get())) {
            List<String> names = new ArrayList<>();
            for (int i = 0; i < list.size(); i++) {
                names.add(prefix + list.name(i));
            }
            return names;
        } catch (VerbsException e) {
            return List.of();
        }
    }

    /** Returns the opened device, or null if the list does not contain it. */
    private static VerbsContext openListed(VerbsLibrary library, RdmaPort port, String openedAs) {
        try (DeviceList list = new DeviceList(library)) {
            for (int i = 0; i < list.size(); i++) {
                if (list.name(i).equals(port.device())) {
                    return new VerbsContext(library, openedAs, port.number(),
                            openContext(library, list.device(i), openedAs));
                }
            }
            return null;
        } catch (VerbsException e) {
            // A kernel without RDMA support reports ENOSYS or ENOENT, which means that there are no devices.
            if (e.call().equals("ibv_get_device_list") && (e.errno() == Errno.ENOSYS || e.errno() == Errno.ENOENT)) {
                return null;
            }
            throw e;
        }
    }

    /**
     * Opens a listed device. On failure, softverbs provides the reason as text, which is more specific than the
     * error number.
     */
    private static long openContext(VerbsLibrary library, long device, String openedAs) {
        long context = NativeCall.pointer(library.openDevice, device);
        long reason = library.optionalFunction("softverbs_open_error");
        if (NativeCall.isError(context) && reason != 0) {
            String text = NativeMemory.segment(NativeCall.pointer(reason, device), VerbsLibrary.MAX_REASON_BYTES)
                    .getString(0);
            throw VerbsException.explained("ibv_open_device", (int) -context, "cannot open " + openedAs, text);
        }
        return VerbsContext.checkCreated("ibv_open_device", context, openedAs);
    }

    /** The array returned by {@code ibv_get_device_list}. */
    private static final class DeviceList implements AutoCloseable {
        private final VerbsLibrary library;
        private final long array;
        private final int size;

        DeviceList(VerbsLibrary library) {
            this.library = library;
            try (Arena arena = Arena.ofConfined()) {
                long count = arena.allocate(Integer.BYTES, Integer.BYTES).address();
                array = VerbsContext.checkCreated("ibv_get_device_list",
                        NativeCall.pointer(library.getDeviceList, count), "");
                size = NativeMemory.getInt(count);
            }
        }

        int size() {
            return size;
        }

        long device(int index) {
            return NativeMemory.getLong(array + (long) index * Long.BYTES);
        }

        String name(int index) {
            return NativeMemory.segment(device(index) + DeviceLayout.NAME_OFFSET, MAX_NAME_BYTES).getString(0);
        }

        @Override
        public void close() {
            NativeCall.status(library.freeDeviceList, array);
        }
    }
}
