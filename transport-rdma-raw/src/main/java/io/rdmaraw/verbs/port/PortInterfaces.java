package io.rdmaraw.verbs.port;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiPredicate;

/**
 * Finds the network interface of an RDMA device's port, and the port of an interface.
 *
 * <p>The kernel reports the relation through RDMA netlink. If it does not, sysfs is used. Its files are missing
 * if RoCE is off. They list the interfaces of a whole PCI function, which may have several ports or
 * representors of virtual functions. For an interface in a bond the bond is returned, since only the bond has
 * addresses.
 */
public final class PortInterfaces {
    private final SysfsInterfaces files;
    private final boolean queriesKernel;

    private PortInterfaces(Path sysfs, boolean queriesKernel) {
        files = new SysfsInterfaces(sysfs);
        this.queriesKernel = queriesKernel;
    }

    /**
     * Returns the interfaces of this host and network namespace. Sysfs is located as by libibverbs
     * ({@code SYSFS_PATH}).
     */
    public static PortInterfaces ofHost() {
        return new PortInterfaces(sysfsOfHost(), true);
    }

    /** Returns the directory of sysfs, located as by libibverbs. */
    static Path sysfsOfHost() {
        return Path.of(System.getenv().getOrDefault("SYSFS_PATH", "/sys"));
    }

    /** Returns the interfaces in the files of another directory than {@code /sys}, without querying the kernel. */
    public static PortInterfaces ofFiles(Path sysfs) {
        return new PortInterfaces(sysfs, false);
    }

    /** Returns whether a network interface of this name exists. */
    public boolean isInterface(String name) {
        return files.isInterface(name);
    }

    /** Returns whether an RDMA device of this name exists. */
    public boolean isDevice(String device) {
        return files.isDevice(device);
    }

    /**
     * Returns the network interface of a port.
     *
     * @return null if there is none, or it is in another network namespace
     */
    public String interfaceOf(String device, int port) {
        String name = queriesKernel ? byNetlink(device, port) : null;
        if (name == null) {
            name = files.interfaceOf(device, port);
        }
        return name == null ? null : files.bondOf(name);
    }

    private static String byNetlink(String device, int port) {
        try (RdmaPortQuery query = new RdmaPortQuery()) {
            for (RdmaPortQuery.Device known : query.devices()) {
                if (known.name().equals(device)) {
                    return query.interfaceOf(known, port);
                }
            }
            return null;
        } catch (IOException e) {
            // The kernel has no RDMA netlink, or is older than 4.15.
            return null;
        }
    }

    /**
     * Returns the port with the given network interface, or the first port of a bond.
     *
     * @return null if there is none, for example for a representor
     */
    public RdmaPort portOf(String interfaceName) {
        if (!files.isInterface(interfaceName)) {
            return null;
        }
        RdmaPort port = firstByNetlink((device, name) -> name.equals(interfaceName)
                || files.bondOf(name).equals(interfaceName));
        return port != null ? port : files.portOf(interfaceName);
    }

    /**
     * Returns the port through which a device reaches the network: the first one whose interface is not a
     * representor. In switchdev mode of mlx5, the ports before it lead to the functions of the card, and some cannot
     * be used at all.
     */
    public int ownPortOf(String device) {
        if (files.portCount(device) == 1) {
            return 1;
        }
        RdmaPort port = firstByNetlink((name, interfaceName) -> name.equals(device));
        return port != null ? port.number() : files.ownPortOf(device);
    }

    /**
     * Returns why channels cannot use the addresses of an interface, or null if they can. The ports of a bond are one
     * device if RoCE LAG is active. Otherwise a channel would receive the frames of one port only.
     */
    public String bondProblem(String interfaceName) {
        if (!files.isBond(interfaceName)) {
            return null;
        }
        Set<String> devices = new TreeSet<>();
        firstByNetlink((device, name) -> {
            if (files.bondOf(name).equals(interfaceName)) {
                devices.add(device);
            }
            return false;
        });
        if (devices.isEmpty()) {
            files.interfacesOfBond(interfaceName).map(files::portOf).filter(Objects::nonNull)
                    .forEach(port -> devices.add(port.device()));
        }
        return devices.size() <= 1 ? null : interfaceName + " consists of several RDMA devices ("
                + String.join(", ", devices) + "), and frames that arrive at another than the opened one would be"
                + " lost. Use soft:packet:" + interfaceName + ", or RoCE LAG, which makes one device of them: the bond"
                + " has all ports of one card and no others, no port has virtual functions, and the mode is"
                + " active-backup, balance-xor or 802.3ad";
    }

    /** Returns the first port whose device and interface match, except for ports of representors. */
    private RdmaPort firstByNetlink(BiPredicate<String, String> matches) {
        if (!queriesKernel) {
            return null;
        }
        try (RdmaPortQuery query = new RdmaPortQuery()) {
            for (RdmaPortQuery.Device device : query.devices()) {
                RdmaPort port = firstOf(query, device, matches);
                if (port != null) {
                    return port;
                }
            }
            return null;
        } catch (IOException e) {
            return null;
        }
    }

    private RdmaPort firstOf(RdmaPortQuery query, RdmaPortQuery.Device device, BiPredicate<String, String> matches) {
        try {
            for (int port = 1; port <= device.portCount(); port++) {
                String name = query.interfaceOf(device, port);
                if (name != null && matches.test(device.name(), name) && !files.isRepresentor(name)) {
                    return new RdmaPort(device.name(), port);
                }
            }
        } catch (IOException e) {
            // The device has ended meanwhile. The others are not affected.
        }
        return null;
    }

    /** Returns the bond of an interface, or the interface itself if it is in none. */
    public String bondOf(String interfaceName) {
        return files.bondOf(interfaceName);
    }

    /** Returns the name of a device's kernel driver, such as {@code mlx5_core}, or null if it is unknown. */
    public String driverOf(String device) {
        return files.driverOf(device);
    }

    /**
     * Returns whether an interface belongs to a virtual function or subfunction, which only receives frames for
     * listed addresses.
     */
    public boolean isVirtualFunction(String interfaceName) {
        return files.isVirtualFunction(interfaceName);
    }

    /** Returns an attribute of an interface, such as {@code address}. */
    public String attribute(String interfaceName, String attribute) throws IOException {
        return files.attribute(interfaceName, attribute);
    }
}
