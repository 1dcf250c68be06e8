package io.rdmaraw.net.rdma;

import io.rdmaraw.net.netlink.RdmaPortQuery;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Finds the network interface of a port of an RDMA device, and the device of an interface.
 *
 * <p>The kernel knows it, and says so by RDMA netlink. Files of sysfs are asked when it does not: they are missing
 * where RoCE is off, and list the interfaces of a whole PCI function, which may have several ports or representors of
 * virtual functions. An interface that is part of a bond has no addresses: the bond stands for it then.
 */
public final class PortInterfaces {
    private final SysfsInterfaces files;
    private final boolean asksKernel;

    private PortInterfaces(Path sysfs, boolean asksKernel) {
        files = new SysfsInterfaces(sysfs);
        this.asksKernel = asksKernel;
    }

    /** Returns those of this host and network namespace; of sysfs as libibverbs finds it ({@code SYSFS_PATH}). */
    public static PortInterfaces ofHost() {
        return new PortInterfaces(Path.of(System.getenv().getOrDefault("SYSFS_PATH", "/sys")), true);
    }

    /** Returns those that files below another directory than {@code /sys} show, without asking the kernel. */
    public static PortInterfaces ofFiles(Path sysfs) {
        return new PortInterfaces(sysfs, false);
    }

    /** Returns whether there is a network interface of this name. */
    public boolean isInterface(String name) {
        return files.isInterface(name);
    }

    /** Returns whether there is an RDMA device of this name. */
    public boolean isDevice(String device) {
        return files.isDevice(device);
    }

    /**
     * Returns the network interface of a port.
     *
     * @return null when it cannot be seen: it is in another network namespace, or there is none
     */
    public String interfaceOf(String device, int port) {
        String name = asksKernel ? byNetlink(device, port) : null;
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
            // A kernel without RDMA netlink, or before 4.15.
            return null;
        }
    }

    /**
     * Returns the RDMA device one of whose ports has a network interface.
     *
     * @return null when there is none: a representor, too, has none of its own
     */
    public String deviceOf(String interfaceName) {
        if (!files.isInterface(interfaceName)) {
            return null;
        }
        String device = asksKernel ? deviceByNetlink(interfaceName) : null;
        return device != null ? device : files.deviceOf(interfaceName);
    }

    private String deviceByNetlink(String interfaceName) {
        try (RdmaPortQuery query = new RdmaPortQuery()) {
            List<RdmaPortQuery.Device> devices = query.devices();
            for (RdmaPortQuery.Device device : devices) {
                for (int port = 1; port <= device.ports(); port++) {
                    String name = query.interfaceOf(device, port);
                    if (name != null && (name.equals(interfaceName) || files.bondOf(name).equals(interfaceName))) {
                        return device.name();
                    }
                }
            }
            return null;
        } catch (IOException e) {
            return null;
        }
    }

    /** Returns the bond that an interface is part of, else the interface itself. */
    public String bondOf(String interfaceName) {
        return files.bondOf(interfaceName);
    }

    /** Returns the kernel's driver of a device, such as {@code mlx5_core}, or null when it is not told. */
    public String driverOf(String device) {
        return files.driverOf(device);
    }

    /** Returns whether an interface is that of a virtual function or a subfunction, which receives by a list alone. */
    public boolean isVirtualFunction(String interfaceName) {
        return files.isVirtualFunction(interfaceName);
    }

    /** Returns an attribute of an interface, such as {@code address}. */
    public String attribute(String interfaceName, String attribute) throws IOException {
        return files.attribute(interfaceName, attribute);
    }
}
