package io.rdmaraw.net.rdma;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.net.netlink.ReceivedAddresses;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * The unicast MAC addresses, beside its own, that rules of this process name on a port of an RDMA device. A virtual
 * function or subfunction receives frames only to the addresses that its network interface has in its list, so each is
 * put there for as long as a rule names it. A physical function receives them in any case.
 *
 * <p>DPDK's mlx5 driver does the same ({@code mlx5_nl_mac_addr_add}). Counted; thread-safe.
 */
public final class PortAddresses {
    private static final Map<Key, PortAddresses> IN_USE = new HashMap<>();

    private final Key key;
    /** The interface's number, or 0 when nothing was added to its list. */
    private int interfaceIndex;
    private String problem;
    private int users;

    private record Key(String device, int port, long mac) {
    }

    private PortAddresses(Key key) {
        this.key = key;
    }

    /** Has a port receive what is for an address, until {@link #release}. */
    public static PortAddresses use(String device, int port, long mac) {
        synchronized (IN_USE) {
            PortAddresses address = IN_USE.computeIfAbsent(new Key(device, port, mac), PortAddresses::new);
            if (address.users++ == 0) {
                address.add();
            }
            return address;
        }
    }

    /** Ends one use; the last one takes the address from the list again. */
    public void release() {
        synchronized (IN_USE) {
            if (--users == 0) {
                IN_USE.remove(key);
                remove();
            }
        }
    }

    /** Returns why frames to the address will not come, or null. */
    public String problem() {
        return problem;
    }

    private void add() {
        PortInterfaces interfaces = PortInterfaces.ofHost();
        String name = interfaces.interfaceOf(key.device, key.port);
        if (name == null) {
            return;
        }
        try (ReceivedAddresses list = new ReceivedAddresses()) {
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
        try (ReceivedAddresses list = new ReceivedAddresses()) {
            list.remove(interfaceIndex, key.mac);
        } catch (IOException e) {
            // It stays in the list; without a rule its frames are the kernel's, which drops them.
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
