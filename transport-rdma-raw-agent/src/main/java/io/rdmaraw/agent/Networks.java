package io.rdmaraw.agent;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A set of networks, written as {@code all}, {@code none} or {@code 10.0.0.0/8+[2001:db8::]/32}. */
final class Networks {
    private record Network(byte[] address, int prefixBits) {
        boolean contains(byte[] other) {
            if (other.length != address.length) {
                return false;
            }
            int wholeBytes = prefixBits / Byte.SIZE;
            if (!Arrays.equals(address, 0, wholeBytes, other, 0, wholeBytes)) {
                return false;
            }
            int rest = prefixBits % Byte.SIZE;
            return rest == 0 || (address[wholeBytes] ^ other[wholeBytes]) >> Byte.SIZE - rest == 0;
        }
    }

    private final String text;
    private final boolean all;
    private final List<Network> networks;

    private Networks(String text, boolean all, List<Network> networks) {
        this.text = text;
        this.all = all;
        this.networks = networks;
    }

    static Networks parse(String text) {
        if (text.equals("all") || text.equals("none")) {
            return new Networks(text, text.equals("all"), List.of());
        }
        List<Network> networks = new ArrayList<>();
        for (String part : text.split("\\+")) {
            networks.add(network(part));
        }
        return new Networks(text, false, networks);
    }

    private static Network network(String part) {
        int slash = part.indexOf('/');
        String host = slash < 0 ? part : part.substring(0, slash);
        // Accepts numeric addresses only: InetAddress would resolve a name.
        if (host.matches("[0-9.]+|\\[[0-9a-fA-F:.]+]")) {
            try {
                byte[] address = InetAddress.getByName(host).getAddress();
                int longest = address.length * Byte.SIZE;
                int prefix = slash < 0 ? longest : Integer.parseInt(part.substring(slash + 1));
                if (prefix >= 0 && prefix <= longest) {
                    return new Network(address, prefix);
                }
            } catch (UnknownHostException | NumberFormatException e) {
                // Reported below.
            }
        }
        throw new IllegalArgumentException("its option connect has '" + part + "', which is not a network; write all, "
                + "none or 10.0.0.0/8+[2001:db8::]/32");
    }

    /** Returns whether an address is in one of the networks. */
    boolean contains(InetAddress address) {
        return all || address != null && networks.stream().anyMatch(network -> network.contains(address.getAddress()));
    }

    boolean isEmpty() {
        return !all && networks.isEmpty();
    }

    @Override
    public String toString() {
        return all ? "all peers" : networks.isEmpty() ? "none" : text.replace("+", ", ");
    }
}
