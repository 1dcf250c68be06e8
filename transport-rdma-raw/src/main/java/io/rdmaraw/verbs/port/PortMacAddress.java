package io.rdmaraw.verbs.port;

import io.rdmaraw.ffi.Errno;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * The unicast MAC addresses, other than its own, that rules of this process match on a port of an RDMA device.
 * A virtual function or subfunction receives only frames for addresses in the list of its network interface.
 * Therefore each address is added to this list while a rule uses it. A physical function receives them anyway.
 *
 * <p>DPDK's mlx5 driver does the same ({@code mlx5_nl_mac_addr_add}). Reference-counted; thread-safe.
 */
public final class PortMacAddress {
    private static final Map<Key, PortMacAddress> IN_USE = new HashMap<>();

    private final Key key;
    /** Index of the network interface, or 0 if the address was not added to its list. */
    private int interfaceIndex;
    private String problem;
    private int users;

    private record Key(String device, int port, long mac) {
    }

    private PortMacAddress(Key key) {
        this.key = key;
    }

    /** Lets a port receive frames for an address, until {@link #release}. */
    public static PortMacAddress acquire(String device, int port, long mac) {
        synchronized (IN_USE) {
            PortMacAddress address = IN_USE.computeIfAbsent(new Key(device, port, mac), PortMacAddress::new);
            if (address.users++ == 0) {
                address.add();
            }
            return address;
        }
    }

    /** Releases a use. The last one removes the address from the list. */
    public void release() {
        synchronized (IN_USE) {
            if (--users == 0) {
                IN_USE.remove(key);
                remove();
            }
        }
    }

    /** Returns why the port cannot receive frames for the address, or null if it can. */
    public String problem() {
        return problem;
    }

    private void add() {
        PortInterfaces interfaces = PortInterfaces.ofHost();
        String name = interfaces.interfaceOf(key.device, key.port);
        if (name == null) {
            return;
        }
        try (InterfaceMacList list = new InterfaceMacList()) {
            String mac = text(key.mac);
            if (mac.equals(interfaces.attribute(name, "address"))) {
                return;
            }
            int index = Integer.parseInt(interfaces.attribute(name, "ifindex"));
            int errno = list.add(index, key.mac);
            if (errno == 0) {
                interfaceIndex = index;
            } else if (errno != Errno.EEXIST && interfaces.isVirtualFunction(name)) {
                problem = name + " is a virtual function and lets in no frames to " + mac + ": adding it to its list"
                        + " failed (" + Errno.describe(errno) + (errno == Errno.EPERM ? "; run with CAP_NET_ADMIN, or"
                        + " use the address of " + name : "") + ')';
            }
        } catch (IOException | NumberFormatException e) {
            if (interfaces.isVirtualFunction(name)) {
                problem = name + " is a virtual function and may let in no frames to " + text(key.mac) + ": "
                        + e.getMessage();
            }
        }
    }

    private void remove() {
        if (interfaceIndex == 0) {
            return;
        }
        try (InterfaceMacList list = new InterfaceMacList()) {
            list.remove(interfaceIndex, key.mac);
        } catch (IOException e) {
            // The address stays in the list. Without a rule the kernel receives its frames and drops them.
        }
    }

    private static String text(long mac) {
        StringBuilder text = new StringBuilder();
        for (int shift = 40; shift >= 0; shift -= 8) {
            text.append(String.format("%02x", mac >>> shift & 0xff)).append(shift > 0 ? ":" : "");
        }
        return text.toString();
    }
}
