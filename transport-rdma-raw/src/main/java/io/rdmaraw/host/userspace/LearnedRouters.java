package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.ffi.NetworkOrder;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The IPv6 routers and prefixes learned from router advertisements (RFC 4861 section 6.3.4), until their lifetime ends.
 * Never reads the clock; callers pass the current time in nanoseconds.
 */
final class LearnedRouters {
    private static final int LIFETIME_OFFSET = 6;
    private static final int OPTIONS_OFFSET = 16;
    private static final int OPTION_PREFIX = 3;
    private static final int OPTION_MTU = 5;
    private static final int PREFIX_OPTION_BYTES = 32;
    private static final int MTU_OPTION_BYTES = 8;
    private static final int FLAG_ON_LINK = 0x80;
    private static final int MIN_MTU_BYTES = 1280;
    private static final int MAX_ENTRIES = 16;
    private static final long INFINITE = 0xffff_ffffL;

    /** A prefix that is on the link. */
    record Prefix(IpAddress network, int bits) {
    }

    private final Map<IpAddress, Long> routers = new LinkedHashMap<>();
    private final Map<Prefix, Long> prefixes = new LinkedHashMap<>();
    private int mtuBytes;
    private boolean advertisementReceived;
    private boolean changed;

    boolean testAndClearChanged() {
        boolean wasChanged = changed;
        changed = false;
        return wasChanged;
    }

    /** Returns whether a router advertisement has been received. */
    boolean hasReceivedAdvertisement() {
        return advertisementReceived;
    }

    /**
     * Processes a well-formed advertisement.
     *
     * @param router the source address, which is link-local
     * @param message address of the message
     */
    void onAdvertisement(IpAddress router, long message, int lengthBytes, long nowNanos) {
        advertisementReceived = true;
        put(routers, router, NetworkOrder.getU16(message + LIFETIME_OFFSET), nowNanos);
        int offset = OPTIONS_OFFSET;
        while (offset + 2 <= lengthBytes) {
            int optionBytes = NetworkOrder.getU8(message + offset + 1) << 3;
            if (optionBytes == 0 || offset + optionBytes > lengthBytes) {
                return;
            }
            option(message + offset, optionBytes, nowNanos);
            offset += optionBytes;
        }
    }

    private void option(long option, int optionBytes, long nowNanos) {
        int type = NetworkOrder.getU8(option);
        if (type == OPTION_MTU && optionBytes == MTU_OPTION_BYTES) {
            int advertised = NetworkOrder.getInt(option + 4);
            if (advertised >= MIN_MTU_BYTES && advertised != mtuBytes) {
                mtuBytes = advertised;
                changed = true;
            }
        } else if (type == OPTION_PREFIX && optionBytes == PREFIX_OPTION_BYTES
                && (NetworkOrder.getU8(option + 3) & FLAG_ON_LINK) != 0) {
            int bits = Math.min(NetworkOrder.getU8(option + 2), 128);
            IpAddress network = new IpAddress(NetworkOrder.getLong(option + 16), NetworkOrder.getLong(option + 24));
            if (bits > 0 && !network.isMulticast() && network.high() != 0) {
                put(prefixes, new Prefix(NetworkSnapshot.network(network, bits), bits),
                        NetworkOrder.getInt(option + 4) & INFINITE, nowNanos);
            }
        }
    }

    private <K> void put(Map<K, Long> map, K key, long lifetimeSeconds, long nowNanos) {
        if (lifetimeSeconds == 0) {
            changed |= map.remove(key) != null;
        } else if (map.containsKey(key) || map.size() < MAX_ENTRIES) {
            changed |= map.put(key, nowNanos + TimeUnit.SECONDS.toNanos(lifetimeSeconds)) == null;
        }
    }

    void poll(long nowNanos) {
        changed |= routers.values().removeIf(until -> nowNanos - until >= 0);
        changed |= prefixes.values().removeIf(until -> nowNanos - until >= 0);
    }

    long deadlineNanos() {
        long next = Long.MAX_VALUE;
        for (long until : routers.values()) {
            next = Math.min(next, until);
        }
        for (long until : prefixes.values()) {
            next = Math.min(next, until);
        }
        return next;
    }

    boolean knows(IpAddress router) {
        return routers.containsKey(router);
    }

    List<IpAddress> routers() {
        return new ArrayList<>(routers.keySet());
    }

    List<Prefix> prefixes() {
        return new ArrayList<>(prefixes.keySet());
    }

    /** Returns the advertised MTU, or 0. */
    int mtuBytes() {
        return mtuBytes;
    }
}
