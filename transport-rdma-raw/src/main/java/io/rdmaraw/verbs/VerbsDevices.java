package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.net.rdma.PortInterfaces;
import io.rdmaraw.verbs.abi.DeviceLayout;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * Finds devices by name. A name that begins with {@code soft:} asks softverbs, the software provider of this project
 * ({@code soft:loop}, {@code soft:loop:a}, and the network interfaces {@code soft:xdp:eth0} and
 * {@code soft:packet:eth0}); any other is an RDMA device of rdma-core ({@code mlx5_0}) or the network
 * interface of one ({@code enp3s0f0}).
 */
public final class VerbsDevices {
    static final int MAX_NAME_BYTES = 64;
    private static final int MAX_REASON_BYTES = 256;

    private VerbsDevices() {
    }

    /** Lists the devices that can be opened now; a provider that is not usable contributes none. */
    public static List<String> names() {
        List<String> names = new ArrayList<>(namesOf(VerbsLibrary::rdmaCore, ""));
        names.addAll(namesOf(VerbsLibrary::softverbs, DeviceName.SOFT_PREFIX));
        return names;
    }

    /** Returns why not even software devices can be had, or null where they can. */
    public static VerbsException softwareUnavailabilityCause() {
        try {
            VerbsLibrary.softverbs();
            return null;
        } catch (VerbsException e) {
            return e;
        }
    }

    /** Returns the address of a function that softverbs has beyond libibverbs; 0 where softverbs cannot be used. */
    public static long softverbsFunction(String name) {
        return softwareUnavailabilityCause() == null ? VerbsLibrary.softverbs().extra(name) : 0;
    }

    /**
     * Opens a device.
     *
     * @throws VerbsException when there is no such device (the message lists those that exist), or it cannot be opened
     */
    public static VerbsContext open(String deviceName) {
        if (new DeviceName(deviceName).isSoftware()) {
            return openSoft(deviceName);
        }
        if (!VerbsLibrary.isRdmaCoreUsable() && isPlainInterface(PortInterfaces.ofHost(), deviceName)) {
            // To install rdma-core would not help.
            throw unknown(deviceName);
        }
        VerbsLibrary library = VerbsLibrary.rdmaCore();
        VerbsContext context = openListed(library, deviceName, deviceName);
        if (context == null) {
            String rdmaDevice = PortInterfaces.ofHost().deviceOf(deviceName);
            context = rdmaDevice == null ? null : openListed(library, rdmaDevice, deviceName);
        }
        if (context == null) {
            throw unknown(deviceName);
        }
        return context;
    }

    /** Tells whether it is a network interface, of no RDMA device as far as the kernel knows. */
    private static boolean isPlainInterface(PortInterfaces interfaces, String name) {
        return interfaces.isInterface(name) && interfaces.deviceOf(name) == null;
    }

    private static VerbsContext openSoft(String deviceName) {
        VerbsLibrary library = VerbsLibrary.softverbs();
        String name = new DeviceName(deviceName).inProvider();
        VerbsContext context = openListed(library, name, deviceName);
        if (context == null && !name.isEmpty() && library.addDevice(name)) {
            context = openListed(library, name, deviceName);
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
        return new VerbsException("ibv_get_device_list", Errno.ENODEV, reasonWhyUnknown(PortInterfaces.ofHost(),
                deviceName));
    }

    static String reasonWhyUnknown(PortInterfaces interfaces, String deviceName) {
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

    /** Returns null when the list does not have the device. */
    private static VerbsContext openListed(VerbsLibrary library, String name, String openedAs) {
        try (DeviceList list = new DeviceList(library)) {
            for (int i = 0; i < list.size(); i++) {
                if (list.name(i).equals(name)) {
                    return new VerbsContext(library, openedAs, opened(library, list.device(i), openedAs));
                }
            }
            return null;
        } catch (VerbsException e) {
            // Kernels without RDMA say ENOSYS or ENOENT: no devices, rather than a failure.
            if (e.call().equals("ibv_get_device_list") && (e.errno() == Errno.ENOSYS || e.errno() == Errno.ENOENT)) {
                return null;
            }
            throw e;
        }
    }

    /** softverbs says why an interface cannot be used; an error number alone would not tell. */
    private static long opened(VerbsLibrary library, long device, String openedAs) {
        long context = NativeCall.pointer(library.openDevice, device);
        long reason = library.extra("softverbs_open_error");
        if (NativeCall.isError(context) && reason != 0) {
            String text = NativeMemory.segment(NativeCall.pointer(reason, device), MAX_REASON_BYTES).getString(0);
            int errno = (int) -context;
            throw new VerbsException("ibv_open_device", errno, "cannot open " + openedAs + ": "
                    + (text.isEmpty() ? VerbsErrors.unexplained(errno) : text));
        }
        return VerbsContext.made("ibv_open_device", context, openedAs);
    }

    /** The array that {@code ibv_get_device_list} gives. */
    private static final class DeviceList implements AutoCloseable {
        private final VerbsLibrary library;
        private final long array;
        private final int size;

        DeviceList(VerbsLibrary library) {
            this.library = library;
            try (Arena arena = Arena.ofConfined()) {
                long count = arena.allocate(Integer.BYTES, Integer.BYTES).address();
                array = VerbsContext.made("ibv_get_device_list", NativeCall.pointer(library.getDeviceList, count), "");
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
