package io.rdmaraw.verbs;

import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.Objects;

/**
 * How an RSS queue pair spreads received frames: a Toeplitz hash over some header fields picks an entry of a table of
 * work queues. Immutable.
 */
public final class RssOptions {
    /** {@code IBV_RX_HASH_FUNC_TOEPLITZ}. */
    public static final int FUNCTION_TOEPLITZ = 1;
    public static final long SOURCE_IPV4 = 1;
    public static final long DESTINATION_IPV4 = 1 << 1;
    public static final long SOURCE_IPV6 = 1 << 2;
    public static final long DESTINATION_IPV6 = 1 << 3;
    public static final long SOURCE_PORT_TCP = 1 << 4;
    public static final long DESTINATION_PORT_TCP = 1 << 5;
    public static final long SOURCE_PORT_UDP = 1 << 6;
    public static final long DESTINATION_PORT_UDP = 1 << 7;
    /** Hash the inner headers of a tunnel. */
    public static final long INNER = 1L << 31;
    /** The length of a Toeplitz key: 320 bits cover two IPv6 addresses and two ports. */
    public static final int KEY_LENGTH_BYTES = 40;

    private final RwqIndirectionTable table;
    private final long fields;
    private final byte[] key;

    /**
     * Describes RSS with a Toeplitz hash.
     *
     * @param fields what is hashed; IPv4 with IPv6, or TCP with UDP, cannot be mixed in one queue pair (verbs.h)
     * @param key    {@link #KEY_LENGTH_BYTES} bytes
     */
    public RssOptions(RwqIndirectionTable table, long fields, byte[] key) {
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
    }

    /**
     * Returns what can be hashed of the frames that a rule takes: addresses and ports of the protocols that it names.
     *
     * @return 0 when the rule does not say which version of IP
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

    /** Returns which header fields are hashed. */
    public long fields() {
        return fields;
    }

    /** Returns a copy of the key. */
    public byte[] key() {
        return key.clone();
    }
}
