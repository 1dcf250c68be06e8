package io.rdmaraw.udp;

import io.rdmaraw.host.DatagramNetwork;

/** The options of a datagram channel. Read on each use, because the user can change them at any time. */
public interface DatagramSettings extends DatagramNetwork.Options {
    /** Returns {@code IP_TOS}: the traffic class of sent datagrams. */
    int trafficClass();

    /** Returns {@code IP_TTL}: the time to live or hop limit of unicast datagrams. */
    int unicastHops();

    /** Returns {@code IP_MULTICAST_TTL}: the time to live or hop limit of multicast datagrams. */
    int multicastHops();

    /** Returns {@code IP_MULTICAST_LOOP}: whether sent multicast datagrams reach members on this host. */
    boolean isMulticastLoop();

    /** Returns {@code IP_RECVORIGDSTADDR}: whether the recipient of a packet is its destination address. */
    boolean isReceiveOriginalDestination();
}
