package io.rdmaraw.verbs.port;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * The destination MAC addresses that rules of this process match on a port of an RDMA device. Flow rules alone do not
 * make frames arrive: with SR-IOV, the e-switch of a card forwards a frame to a function only if the lists of the
 * function's network interface contain the address. This includes multicast, and physical functions with virtual
 * functions. Therefore each address is in a list while a rule matches it.
 *
 * <p>DPDK's mlx5 driver does the same ({@code mlx5_nl_mac_addr_add}). Reference-counted; thread-safe.
 */
public final class PortMacAddress {
    private static final Map<Key, PortMacAddress> IN_USE = new HashMap<>();
    /** Interfaces list it themselves. */
    private static final long BROADCAST = 0xffff_ffff_ffffL;
    private static final long MULTICAST_BIT = 1L << 40;

    private final Key key;
    /** The entry in a list of the interface, or null if there is none. */
    private InterfaceMac entry;
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

    /**
     * Returns why the port may not receive frames for the address, or null if it does. The text does not name the
     * address, so that it is the same for all addresses of the port.
     */
    public String problem() {
        return problem;
    }

    static boolean isMulticast(long mac) {
        return (mac & MULTICAST_BIT) != 0;
    }

    private void add() {
        if (key.mac == BROADCAST) {
            return;
        }
        PortInterfaces interfaces = PortInterfaces.ofHost();
        String name = interfaces.interfaceOf(key.device, key.port);
        if (name == null) {
            problem = problem("the interface of port " + key.port, "it is not in this network namespace");
            return;
        }
        try {
            if (!text(key.mac).equals(interfaces.attribute(name, "address"))) {
                entry = InterfaceMac.add(Integer.parseInt(interfaces.attribute(name, "ifindex")), key.mac);
            }
        } catch (IOException | NumberFormatException e) {
            problem = problem(name, e.getMessage());
        }
    }

    private static String problem(String list, String reason) {
        return "frames for other addresses than the port's own may not arrive, because " + list + " cannot list them: "
                + reason + ". Physical functions without virtual functions are not affected";
    }

    private void remove() {
        if (entry != null) {
            entry.close();
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
