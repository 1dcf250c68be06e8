package io.rdmaraw.net.rdma;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** What sysfs tells of RDMA devices and network interfaces. It shows the interfaces of one network namespace. */
final class SysfsInterfaces {
    /** {@code devlink_port_phys_port_name_get()} of Linux: what stands for a virtual function or a subfunction. */
    private static final Pattern REPRESENTOR = Pattern.compile("(c\\d+)?pf\\d+(vf|sf)\\d+|(c\\d+)?pf\\d+");

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

    /** Returns the interface of a port, or null when none, or none for certain, is to be seen. */
    String interfaceOf(String device, int port) {
        if (!isDevice(device)) {
            return null;
        }
        // The table of GIDs has an interface for each. An entry that is not in use cannot be read.
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
        for (Path entry : entries(rdmaDevices.resolve(device).resolve("device/net"))) {
            String name = entry.getFileName().toString();
            if (isOfPort(name, port) && !isRepresentor(name)) {
                found.add(name);
            }
        }
        return found.size() == 1 ? found.getFirst() : null;
    }

    /** The port of the function, from 0 on; drivers whose functions have one port each say 0. */
    private boolean isOfPort(String name, int port) {
        String number = text(interfaces.resolve(name).resolve("dev_port"));
        return number == null || number.equals(Integer.toString(port - 1));
    }

    private boolean isRepresentor(String name) {
        String portName = text(interfaces.resolve(name).resolve("phys_port_name"));
        return portName != null && REPRESENTOR.matcher(portName).matches();
    }

    /** Returns the bond that an interface is part of, else the interface itself. */
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

    /** Returns the RDMA device of an interface's PCI function, or null; a representor is of its function, too. */
    String deviceOf(String name) {
        List<Path> devices = entries(interfaces.resolve(name).resolve("device/infiniband"));
        return devices.isEmpty() || isRepresentor(name) ? null : devices.getFirst().getFileName().toString();
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
