package io.rdmaraw.verbs.port;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Reads RDMA devices and network interfaces from sysfs, which shows the interfaces of one network namespace. */
final class SysfsInterfaces {
    /**
     * Names of representors of virtual functions and subfunctions; see
     * {@code devlink_port_phys_port_name_get()} of Linux.
     */
    private static final Pattern REPRESENTOR = Pattern.compile("(c\\d+)?pf\\d+(vf|sf)\\d+|(c\\d+)?pf\\d+");

    /**
     * Only an e-switch has more ports: at least its own function, another one, and the uplink, which is the last
     * ({@code mlx5_esw_vports_init()} of Linux).
     */
    private static final int MAX_PHYSICAL_PORTS = 2;

    private final Path rdmaDevices;
    private final Path interfaces;

    SysfsInterfaces(Path sysfs) {
        rdmaDevices = sysfs.resolve("class/infiniband");
        interfaces = sysfs.resolve("class/net");
    }

    boolean isDevice(String device) {
        return isName(device) && Files.isDirectory(rdmaDevices.resolve(device));
    }

    boolean isInterface(String name) {
        return isName(name) && Files.isDirectory(interfaces.resolve(name));
    }

    private static boolean isName(String name) {
        return !name.isEmpty() && !name.contains("/") && !name.startsWith(".");
    }

    /** Returns the interface of a port, or null if none can be determined with certainty. */
    String interfaceOf(String device, int port) {
        if (!isDevice(device)) {
            return null;
        }
        // The GID table has an interface for each entry. Unused entries cannot be read.
        for (Path entry : entries(rdmaDevices.resolve(device).resolve("ports/" + port + "/gid_attrs/ndevs"))) {
            String name = text(entry);
            if (name != null && isInterface(name)) {
                return name;
            }
        }
        return onlyInterface(device, port);
    }

    private String onlyInterface(String device, int port) {
        List<String> found = new ArrayList<>();
        boolean isOnlyOwn = isSwitchdev(device);
        for (Path entry : entries(rdmaDevices.resolve(device).resolve("device/net"))) {
            String name = entry.getFileName().toString();
            if ((isOnlyOwn ? port == ownPortOf(device) : isOfPort(name, port)) && !isRepresentor(name)) {
                found.add(name);
            }
        }
        return found.size() == 1 ? found.getFirst() : null;
    }

    /**
     * Returns whether an interface belongs to a port. dev_port counts from 0; drivers with one port per
     * function always report 0.
     */
    private boolean isOfPort(String name, int port) {
        String number = text(interfaces.resolve(name).resolve("dev_port"));
        return number == null || number.equals(Integer.toString(port - 1));
    }

    int portCount(String device) {
        return entries(rdmaDevices.resolve(device).resolve("ports")).size();
    }

    private boolean isSwitchdev(String device) {
        return portCount(device) > MAX_PHYSICAL_PORTS;
    }

    /** Returns the port of the network: the last one in switchdev mode, otherwise the first one. */
    int ownPortOf(String device) {
        return isSwitchdev(device) ? portCount(device) : 1;
    }

    boolean isRepresentor(String name) {
        String portName = text(interfaces.resolve(name).resolve("phys_port_name"));
        return portName != null && REPRESENTOR.matcher(portName).matches();
    }

    boolean isBond(String name) {
        return isName(name) && Files.isDirectory(interfaces.resolve(name).resolve("bonding"));
    }

    Stream<String> interfacesOfBond(String bond) {
        String names = text(interfaces.resolve(bond).resolve("bonding/slaves"));
        return names == null || names.isEmpty() ? Stream.empty() : Stream.of(names.split(" "));
    }

    /** Returns the bond of an interface, or the interface itself if it is in none. */
    String bondOf(String name) {
        if (!isName(name)) {
            return name;
        }
        Path master = interfaces.resolve(name).resolve("master");
        try {
            return Files.isDirectory(master.resolve("bonding")) ? master.toRealPath().getFileName().toString() : name;
        } catch (IOException e) {
            return name;
        }
    }

    /**
     * Returns the port of an interface, whose RDMA device is that of the interface's PCI function, or null. A
     * representor shares the function but has no device.
     */
    RdmaPort portOf(String name) {
        List<Path> devices = entries(interfaces.resolve(name).resolve("device/infiniband"));
        if (devices.isEmpty() || isRepresentor(name)) {
            return null;
        }
        String device = devices.getFirst().getFileName().toString();
        int last = portCount(device);
        // In switchdev mode, dev_port is 0 for all interfaces.
        boolean isLast = isSwitchdev(device) || last == MAX_PHYSICAL_PORTS && !isOfPort(name, 1);
        return new RdmaPort(device, isLast ? last : 1);
    }

    boolean isVirtualFunction(String name) {
        Path device = interfaces.resolve(name).resolve("device");
        return Files.exists(device.resolve("physfn")) || Files.exists(device.resolve("sfnum"));
    }

    String driverOf(String device) {
        try {
            Path driver = rdmaDevices.resolve(device).resolve("device/driver");
            return Files.readSymbolicLink(driver).getFileName().toString();
        } catch (IOException e) {
            return null;
        }
    }

    String attribute(String name, String attribute) throws IOException {
        return Files.readString(interfaces.resolve(name).resolve(attribute)).strip();
    }

    private static List<Path> entries(Path directory) {
        List<Path> entries = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            stream.forEach(entries::add);
        } catch (IOException e) {
            return List.of();
        }
        entries.sort(null);
        return entries;
    }

    private static String text(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return null;
        }
    }
}
