package io.rdmaraw.verbs.objects;

import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.Objects;

/**
 * The options of an RSS queue pair. A Toeplitz hash over header fields selects an entry of a table of work
 * queues. Immutable.
 */
public final class RssOptions {
    /** {@code IBV_RX_HASH_FUNC_TOEPLITZ}. */
    public static final int FUNCTION_TOEPLITZ = 1;
    /** Hash the IPv4 source address. */
    public static final long SOURCE_IPV4 = 1;
    /** Hash the IPv4 destination address. */
    public static final long DESTINATION_IPV4 = 1 << 1;
    /** Hash the IPv6 source address. */
    public static final long SOURCE_IPV6 = 1 << 2;
    /** Hash the IPv6 destination address. */
    public static final long DESTINATION_IPV6 = 1 << 3;
    /** Hash the TCP source port. */
    public static final long SOURCE_PORT_TCP = 1 << 4;
    /** Hash the TCP destination port. */
    public static final long DESTINATION_PORT_TCP = 1 << 5;
    /** Hash the UDP source port. */
    public static final long SOURCE_PORT_UDP = 1 << 6;
    /** Hash the UDP destination port. */
    public static final long DESTINATION_PORT_UDP = 1 << 7;
    /** {@code IBV_RX_HASH_INNER}: hash the inner headers of a tunnel. */
    public static final long INNER = 1L << 31;
    /** Length of a Toeplitz key. 320 bits cover two IPv6 addresses and two ports. */
    public static final int KEY_LENGTH_BYTES = 40;

    private final RwqIndirectionTable table;
    private final long fields;
    private final byte[] key;
    private final int port;

    /**
     * Creates options.
     *
     * @param table  the work queues that receive the frames
     * @param fields the hashed fields, an OR of {@link #SOURCE_IPV4} and so on
     * @param key    {@link #KEY_LENGTH_BYTES} bytes; the array is copied
     * @param port   the port that receives the frames, from 1. Other queue pairs get their port with the transition to
     *               INIT, which an RSS queue pair does not have
     * @throws IllegalArgumentException if {@code fields} combines IPv4 with IPv6, or TCP with UDP (verbs.h
     *         forbids both)
     */
    public RssOptions(RwqIndirectionTable table, long fields, byte[] key, int port) {
        this.table = Objects.requireNonNull(table, "RSS needs an indirection table");
        if (key.length != KEY_LENGTH_BYTES) {
            throw new IllegalArgumentException("a Toeplitz key has 40 bytes, not " + key.length);
        }
        boolean ipv4 = (fields & (SOURCE_IPV4 | DESTINATION_IPV4)) != 0;
        boolean ipv6 = (fields & (SOURCE_IPV6 | DESTINATION_IPV6)) != 0;
        boolean tcp = (fields & (SOURCE_PORT_TCP | DESTINATION_PORT_TCP)) != 0;
        boolean udp = (fields & (SOURCE_PORT_UDP | DESTINATION_PORT_UDP)) != 0;
        if (ipv4 && ipv6 || tcp && udp) {
            throw new IllegalArgumentException("one RSS queue pair hashes either IPv4 or IPv6, and either TCP or UDP"
                    + " ports: create one for each");
        }
        this.fields = fields;
        this.key = key.clone();
        this.port = port;
    }

    /**
     * Returns all fields that can be hashed for the frames of a rule: addresses, and ports if the rule names
     * TCP or UDP.
     *
     * @return an OR of field constants; 0 if the rule does not name an IP version
     */
    public static long fieldsOf(FlowSpec spec) {
        if (!spec.isIpv4() && !spec.isIpv6()) {
            return 0;
        }
        long addresses = spec.isIpv4() ? SOURCE_IPV4 | DESTINATION_IPV4 : SOURCE_IPV6 | DESTINATION_IPV6;
        if (!spec.isTcp() && !spec.isUdp()) {
            return addresses;
        }
        return addresses | (spec.isTcp() ? SOURCE_PORT_TCP | DESTINATION_PORT_TCP
                : SOURCE_PORT_UDP | DESTINATION_PORT_UDP);
    }

    /** Returns the table of work queues. */
    public RwqIndirectionTable table() {
        return table;
    }

    /** Returns the hashed fields. */
    public long fields() {
        return fields;
    }

    /** Returns a copy of the key. */
    public byte[] key() {
        return key.clone();
    }

    /** Returns the port that receives the frames. */
    public int port() {
        return port;
    }
}
