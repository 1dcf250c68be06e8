package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.netty.util.internal.UnstableApi;
import io.rdmaraw.host.userspace.UserspaceAddress;
import io.rdmaraw.host.userspace.UserspaceHostConfig;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.congestion.CongestionControls;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.stack.PortHandover;
import io.rdmaraw.tcp.stack.TcpStackOptions;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.wire.FrameOrigin;
import io.rdmaraw.wire.MacAddress;

import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** How the loops of a group drive their queues. Immutable; made by {@link #builder()}. */
public final class RdmaRawIoHandlerConfig {
    /** The system property that sets the default of {@link Builder#compressedCompletions}. */
    public static final String COMPRESSED_COMPLETIONS_PROPERTY = "io.rdmaraw.compressedCompletions";
    /** The system property that sets the default of {@link Builder#spin}, in nanoseconds. */
    public static final String SPIN_PROPERTY = "io.rdmaraw.spinNanos";
    /** The system property that sets the default of {@link Builder#segmentationOffload}. */
    public static final String SEGMENTATION_OFFLOAD_PROPERTY = "io.rdmaraw.segmentationOffload";

    /** As many parts as a segment of TCP has at most, its headers and room for padding. */
    private static final int LONG_SEND_SGE = Segment.MAX_SLICES + 2;
    private static final int SHORT_SEND_SGE = 4;
    private static final int MOST_LONG_SENDS = 4096;
    /** As Linux's tcp_rmem has it by default. */
    private static final int MOST_RECEIVE_BUFFER_BYTES = 6 * 1024 * 1024;
    /** Of the slots, in which received bytes lie until they are read. */
    private static final int RECEIVE_BUFFER_SHARE = 4;

    private static final RdmaRawIoHandlerConfig DEFAULT = builder().build();

    /** What this was built from; never changed. What follows from other settings is not yet in it. */
    private final Builder settings;
    private final FrameQueueOptions queueOptions;
    private final long spinNanos;
    private final boolean segmentationOffload;
    private final int maxReceiveBufferBytes;
    private final int receiveBufferBytes;
    private final int maxUnresolvedPackets;
    private final String ipDevice;
    private final UnnamedDevice unnamedDevice;
    private final NioChannels nioChannels;
    private final UserspaceHostConfig userspaceHost;
    private final long fastOpenKeyHigh;
    private final long fastOpenKeyLow;
    private final RdmaRawTcpLimits tcpLimits;
    private final Predicate<InetSocketAddress> listensByDevice;
    private final Predicate<InetSocketAddress> connectsByDevice;
    private final RdmaRawTakeover takeover;
    private final PortHandover handover;

    private RdmaRawIoHandlerConfig(Builder builder) {
        settings = builder;
        queueOptions = new FrameQueueOptions(builder.receiveQueueDepth, builder.sendQueueDepth, builder.sendSge(),
                builder.slotCount, builder.slotBytes, builder.directVerbs, builder.compressedCompletions,
                builder.stridingReceive);
        spinNanos = builder.spinNanos;
        tcpLimits = builder.tcpLimits;
        segmentationOffload = builder.segmentationOffload;
        maxReceiveBufferBytes = builder.maxReceiveBufferBytes >= 0 ? builder.maxReceiveBufferBytes
                : (int) Math.min(MOST_RECEIVE_BUFFER_BYTES,
                        (long) builder.slotCount * builder.slotBytes / RECEIVE_BUFFER_SHARE);
        maxUnresolvedPackets = builder.maxUnresolvedPackets;
        ipDevice = builder.ipDevice != null ? builder.ipDevice : DeviceName.HOST_LOOPBACK;
        unnamedDevice = new UnnamedDevice(builder.ipDevice == null && builder.ownMac == 0);
        nioChannels = builder.nioChannels;
        listensByDevice = builder.listensByDevice;
        connectsByDevice = builder.connectsByDevice;
        takeover = builder.takeover;
        receiveBufferBytes = builder.tcp.receiveBufferBytes();
        handover = takeover == null ? new PortHandover() : takeover.handover();
        SecureRandom random = new SecureRandom();
        fastOpenKeyHigh = builder.fastOpenKeyHigh != 0 ? builder.fastOpenKeyHigh
                : takeover != null ? takeover.fastOpenKeyHigh() : random.nextLong();
        fastOpenKeyLow = builder.fastOpenKeyLow != 0 ? builder.fastOpenKeyLow
                : takeover != null ? takeover.fastOpenKeyLow() : random.nextLong();
        userspaceHost = builder.ownMac == 0 ? null : new UserspaceHostConfig(builder.ownMac, builder.ownAddresses,
                builder.ownGateways, builder.detectDuplicates);
    }

    /** Returns the default settings. */
    public static RdmaRawIoHandlerConfig defaults() {
        return DEFAULT;
    }

    /** Returns a builder that starts from the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns a builder that starts from these settings. What was not set follows from the others again, and a fast
     * open key that was not is drawn anew.
     */
    public Builder toBuilder() {
        return settings.copy();
    }

    /**
     * Returns the settings of a loop's TCP.
     *
     * @param maxParts from how many parts of payload the device gathers a frame
     * @param segmentationBytes the longest payload that the device cuts into segments; 0 if it cuts none
     */
    TcpConfig tcpConfig(int mtuBytes, int maxParts, int segmentationBytes) {
        return tcpLimits.applyTo(settings.tcp.toCore()).mtuBytes(mtuBytes)
                .maxSlices(Math.clamp(maxParts, 1, Segment.MAX_SLICES)).segmentationBytes(segmentationBytes)
                .maxReceiveBufferBytes(maxReceiveBufferBytes)
                .congestionControl(CongestionControls.named(settings.congestionControl))
                .minRtoNanos(settings.minRtoNanos)
                .fastOpenKey(fastOpenKeyHigh, fastOpenKeyLow)
                .secrets(takeover == null ? TcpStackFactory.SECRETS : takeover.secrets()).build();
    }

    TcpStackOptions tcpOptions() {
        return new TcpStackOptions(segmentationOffload, frameOrigin(), this::tcpConfig, handover);
    }

    FrameQueueOptions queueOptions() {
        return queueOptions;
    }

    /** Returns with how many bytes a receive buffer begins that is not set. */
    int receiveBufferBytes() {
        return receiveBufferBytes;
    }

    /** Returns the congestion control of connections that have not chosen one. */
    public String congestionControl() {
        return settings.congestionControl;
    }

    /** Returns the device of the channels that are bound to IP addresses. */
    public String device() {
        return ipDevice;
    }

    /** As {@link #device()}. */
    public String ipDevice() {
        return ipDevice;
    }

    /** Returns what watches for servers that only this process can reach, since no device was named. */
    UnnamedDevice unnamedDevice() {
        return unnamedDevice;
    }

    /** Returns what the loops do about TCP and UDP channels of NIO. */
    public NioChannels nioChannels() {
        return nioChannels;
    }

    /** Returns by what servers hand over their ports to another process; null when they do not. */
    RdmaRawTakeover takeoverOrNull() {
        return takeover;
    }

    /** Tells whether a server on this local address is the device's. */
    boolean listensByDevice(InetSocketAddress local) {
        return listensByDevice.test(local);
    }

    /** Tells whether a connection to this peer is the device's. */
    boolean connectsByDevice(InetSocketAddress remote) {
        return connectsByDevice.test(remote);
    }

    /** Returns where the frames come from that channels with IP addresses get. */
    FrameOrigin frameOrigin() {
        return userspaceHost == null && new DeviceName(ipDevice).isLoopback() ? FrameOrigin.HOST : FrameOrigin.LINK;
    }

    /** Returns the userspace host that the channels are on, or null when they are on the kernel's. */
    UserspaceHostConfig userspaceHostOrNull() {
        return userspaceHost;
    }

    /** Returns for how long a loop without work polls before it sleeps, in nanoseconds. */
    public long spinNanos() {
        return spinNanos;
    }

    /** Returns how far the receive buffer of a TCP connection grows by itself, in bytes; 0 if it does not. */
    public int maxReceiveBufferBytes() {
        return maxReceiveBufferBytes;
    }

    /** Returns how many packets of a loop wait for the MAC addresses of their next hops. */
    public int maxUnresolvedPackets() {
        return maxUnresolvedPackets;
    }

    /** Returns whether devices that can cut the payloads of TCP into segments do so. */
    public boolean segmentationOffload() {
        return segmentationOffload;
    }

    /** Returns how many frames can come in between two polls of a loop. */
    public int receiveQueueDepth() {
        return queueOptions.receiveQueueDepth();
    }

    /** Returns how many frames of a loop can be with the device. */
    public int sendQueueDepth() {
        return queueOptions.sendQueueDepth();
    }

    /** Returns how many parts a frame is gathered from before it is copied together. */
    public int maxSendSge() {
        return queueOptions.maxSendSge();
    }

    /** Returns the number of slots of registered memory per loop and port. */
    public int slotCount() {
        return queueOptions.slotCount();
    }

    /** Returns the length of a slot in bytes. */
    public int slotBytes() {
        return queueOptions.slotBytes();
    }

    /** Returns whether the rings of mlx5 devices are used in place. */
    public DirectAccess directVerbs() {
        return queueOptions.directVerbs();
    }

    /** Returns whether mlx5 devices compress the completions of received frames. */
    public boolean compressedCompletions() {
        return queueOptions.compressedCompletions();
    }

    /** Returns whether frames are received by striding queues. */
    public StridingReceive stridingReceive() {
        return queueOptions.stridingReceive();
    }

    /** The settings that tell one group from another in a log. */
    @Override
    public String toString() {
        return "RdmaRawIoHandlerConfig(device " + ipDevice + (unnamedDevice.isUnnamed() ? " by default" : "")
                + (userspaceHost == null ? "" : ", host of its own " + userspaceHost.addresses().stream()
                        .map(own -> own.address() + "/" + own.prefixLength()).toList())
                + ", spin " + spinNanos / 1000.0 + " us, queues " + receiveQueueDepth() + '/' + sendQueueDepth()
                + ", " + slotCount() + " slots of " + slotBytes() + " bytes, direct verbs " + directVerbs()
                + (compressedCompletions() ? ", compressed completions" : "")
                + (stridingReceive() == StridingReceive.NEVER ? "" : ", striding receive " + stridingReceive())
                + (segmentationOffload ? "" : ", no segmentation offload") + ", NIO channels " + nioChannels + ')';
    }

    /** Collects settings; each is checked when {@link #build()} is called. */
    public static final class Builder implements Cloneable {
        private int receiveQueueDepth = 1024;
        private int sendQueueDepth = 1024;
        private int maxSendSge;
        private int slotCount = 4096;
        private int slotBytes = 2048;
        private DirectAccess directVerbs = DirectAccess.ofProperty();
        private boolean compressedCompletions = Boolean.getBoolean(COMPRESSED_COMPLETIONS_PROPERTY);
        private StridingReceive stridingReceive = StridingReceive.ofProperty();
        private boolean segmentationOffload = !"false".equals(System.getProperty(SEGMENTATION_OFFLOAD_PROPERTY));
        /** Below 0 while it follows from the slots. */
        private int maxReceiveBufferBytes = -1;
        private long spinNanos = Math.max(0, Long.getLong(SPIN_PROPERTY, TimeUnit.MICROSECONDS.toNanos(20)));
        private int maxUnresolvedPackets = 128;
        /** Null while none is named. */
        private String ipDevice;
        private NioChannels nioChannels = NioChannels.ofProperty();
        private RdmaRawTcpLimits tcpLimits = new RdmaRawTcpLimits();
        private RdmaRawTcpSettings tcp = new RdmaRawTcpSettings();
        private String congestionControl = "cubic";
        private long minRtoNanos = TimeUnit.MILLISECONDS.toNanos(200);
        private Predicate<InetSocketAddress> listensByDevice = local -> true;
        private Predicate<InetSocketAddress> connectsByDevice = remote -> true;
        private RdmaRawTakeover takeover;
        private long fastOpenKeyHigh;
        private long fastOpenKeyLow;
        private long ownMac;
        /** Immutable, as all other fields' values are: a copy of the fields is a copy of the builder. */
        private List<UserspaceAddress> ownAddresses = List.of();
        private List<IpAddress> ownGateways = List.of();
        private boolean detectDuplicates = true;

        private Builder() {
        }

        private Builder copy() {
            try {
                return (Builder) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        private static <T> List<T> with(List<T> list, T last) {
            return Stream.concat(list.stream(), Stream.of(last)).toList();
        }

        /** Sets how many frames can come in between two polls of a loop: a power of two, at least 64. */
        public Builder receiveQueueDepth(int frames) {
            receiveQueueDepth = frames;
            return this;
        }

        /** Sets how many frames of a loop can be with the device: a power of two, at least 64. */
        public Builder sendQueueDepth(int frames) {
            sendQueueDepth = frames;
            return this;
        }

        /**
         * Sets whether the rings of mlx5 devices are used in place, which is done by default where it can be; the
         * system property {@value DirectAccess#PROPERTY} changes the default.
         */
        @UnstableApi
        public Builder directVerbs(DirectAccess choice) {
            directVerbs = ObjectUtil.checkNotNull(choice, "choice");
            return this;
        }

        /**
         * Sets whether mlx5 devices whose rings are used in place compress the completions of received frames, if they
         * can. That saves most of the bytes that completions take on the PCIe bus, where that is what limits the rate
         * of small frames. The default is the system property {@value #COMPRESSED_COMPLETIONS_PROPERTY}, else false.
         */
        @UnstableApi
        public Builder compressedCompletions(boolean compressed) {
            compressedCompletions = compressed;
            return this;
        }

        /**
         * Sets whether frames are received by striding queues, of which a receive request is a long buffer for many
         * frames, where mlx5 devices' rings are used in place. Half of the slots' memory is divided into such buffers;
         * one can be used again when no handler holds a frame in it any more. The default is the system property
         * {@value StridingReceive#PROPERTY}, else never.
         */
        @UnstableApi
        public Builder stridingReceive(StridingReceive choice) {
            stridingReceive = ObjectUtil.checkNotNull(choice, "choice");
            return this;
        }

        /**
         * Sets from how many parts a frame is gathered before it is copied together: at least 2. The default is 18, of
         * which TCP's longest segments need all, and 4 with a send queue of more than 4096, whose requests would be
         * more than an mlx5 device's ring holds.
         */
        public Builder maxSendSge(int parts) {
            maxSendSge = parts;
            return this;
        }

        private int sendSge() {
            if (maxSendSge != 0) {
                return maxSendSge;
            }
            return sendQueueDepth <= MOST_LONG_SENDS ? LONG_SEND_SGE : SHORT_SEND_SGE;
        }

        /**
         * Sets whether the device cuts the payloads of TCP into segments (TSO) if it can. That needs a
         * {@link #maxSendSge} of some size, for as many pieces of memory as a payload consists of. The default is the
         * system property {@value #SEGMENTATION_OFFLOAD_PROPERTY}, else true.
         */
        public Builder segmentationOffload(boolean offload) {
            segmentationOffload = offload;
            return this;
        }

        /**
         * Sets how far the receive buffer of a TCP connection whose {@code SO_RCVBUF} is not set grows by itself,
         * with what its user reads in a round trip (tcp_rmem of Linux): 0, for not at all, to 2^30 bytes. The default
         * is a quarter of the slots' memory, 6 MiB at most: what was received lies in slots until it is read.
         */
        public Builder maxReceiveBufferBytes(int bytes) {
            if (bytes < 0 || bytes > 1 << 30) {
                throw new IllegalArgumentException("maxReceiveBufferBytes is " + bytes + "; it must lie in 0..2^30");
            }
            maxReceiveBufferBytes = bytes;
            return this;
        }

        /**
         * Sets how many packets of a loop wait for the MAC addresses of their next hops, over all of them: 1 to 65536,
         * 128 by default. The oldest makes room for the next. Each is copied, and has up to an MTU of heap, or its
         * length in direct memory when it is a datagram; so peers that are not there cannot take the loop's slots.
         * Half of them may wait for one next hop, a gateway for instance; RFC 1122 section 2.3.2.2 wants the latest
         * kept. Linux has a limit of bytes per next hop (net.ipv4.neigh.default.unres_qlen_bytes) and none over all.
         */
        public Builder maxUnresolvedPackets(int packets) {
            if (packets < 1 || packets > 1 << 16) {
                throw new IllegalArgumentException("maxUnresolvedPackets is " + packets + "; it must lie in 1..65536");
            }
            maxUnresolvedPackets = packets;
            return this;
        }

        /**
         * Sets the congestion control of TCP connections that have not chosen one
         * ({@link RdmaRawChannelOption#TCP_CONGESTION}; net.ipv4.tcp_congestion_control of Linux): {@code cubic}, which
         * is the default, {@code reno}, {@code dctcp} or {@code bbr}.
         */
        public Builder congestionControl(String name) {
            CongestionControls.named(name);
            congestionControl = name;
            return this;
        }

        /**
         * Sets how far the retransmission timeout of TCP lies above the smoothed round trip time at least
         * (net.ipv4.tcp_rto_min_us of Linux): 1 ms to 60 s, by default 200 ms. Between hosts that delay no
         * acknowledgement for longer less of it shortens the silence after a retransmission that is lost too.
         */
        public Builder minRto(long duration, TimeUnit unit) {
            long nanos = unit.toNanos(duration);
            TcpConfig.builder().minRtoNanos(nanos);
            minRtoNanos = nanos;
            return this;
        }

        /** Sets how TCP behaves where its channels do not say. The settings are copied. */
        public Builder tcp(RdmaRawTcpSettings settings) {
            tcp = ObjectUtil.checkNotNull(settings, "settings").copy();
            return this;
        }

        /** Sets what the TCP of each loop lets its peers make it hold and do. The limits are copied. */
        @UnstableApi
        public Builder tcpLimits(RdmaRawTcpLimits limits) {
            tcpLimits = ObjectUtil.checkNotNull(limits, "limits").copy();
            return this;
        }

        /**
         * Sets the number of slots of registered memory per loop and port. What exceeds the receive queue is what
         * handlers can hold before received frames have to be copied.
         */
        public Builder slotCount(int slots) {
            slotCount = slots;
            return this;
        }

        /**
         * Sets the bytes of memory per slot: a power of two that holds the largest frame, and from 2048 on 448 bytes
         * more, by which the frames' beginnings are spread over the cache. 2048 serves an MTU of 1500.
         */
        public Builder slotBytes(int bytes) {
            slotBytes = bytes;
            return this;
        }

        /**
         * Sets for how long a loop without work polls before it sleeps; 0 sleeps at once. Spinning takes a core and
         * saves the tens of microseconds that waking takes. A loop that finds by experience that frames come later than
         * half of this time spins only now and then. The default is the system property {@value #SPIN_PROPERTY}, else
         * 20 microseconds.
         */
        public Builder spin(long duration, TimeUnit unit) {
            spinNanos = unit.toNanos(ObjectUtil.checkPositiveOrZero(duration, "duration"));
            return this;
        }

        /**
         * Sets the device of the channels that are bound to IP addresses, named as {@link RdmaRawAddress} names
         * devices:
         *
         * {@snippet :
         * new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0").build());
         * }
         *
         * <p>If none is named it is {@code soft:loop}, which only this process reaches; the first channel that is bound
         * there to another than a loopback address is logged at WARN.
         */
        public Builder device(String deviceName) {
            ipDevice = ObjectUtil.checkNonEmpty(deviceName, "deviceName");
            return this;
        }

        /** As {@link #device(String)}. */
        public Builder ipDevice(String deviceName) {
            return device(deviceName);
        }

        /**
         * Sets what the loops do about TCP and UDP channels of NIO that are registered on them, which the kernel
         * carries. The default is the system property {@value NioChannels#PROPERTY}, else that the first one of a
         * group is logged at WARN.
         */
        public Builder nioChannels(NioChannels choice) {
            nioChannels = ObjectUtil.checkNotNull(choice, "choice");
            return this;
        }

        /**
         * Sets which TCP servers listen by the device: those on whose local address, as it was given to {@code bind},
         * this answers true. For the others the kernel listens, on the same channels and loops. By default all listen
         * by the device. Asked on the loops' threads.
         */
        @UnstableApi
        public Builder listensByDevice(Predicate<InetSocketAddress> local) {
            listensByDevice = ObjectUtil.checkNotNull(local, "local");
            return this;
        }

        /**
         * Sets which TCP connections are opened by the device: those to a peer on which this answers true, if the
         * device's link leads there. The others are the kernel's, on the same channels and loops. By default all are
         * opened by the device. Asked on the loops' threads.
         */
        @UnstableApi
        public Builder connectsByDevice(Predicate<InetSocketAddress> remote) {
            connectsByDevice = ObjectUtil.checkNotNull(remote, "remote");
            return this;
        }

        /**
         * Has TCP servers take over their ports from the process before, and hand them over to the next one: see
         * {@link RdmaRawTakeover}. By default a port has one process from its opening to its end.
         */
        @UnstableApi
        public Builder takeover(RdmaRawTakeover ports) {
            takeover = ObjectUtil.checkNotNull(ports, "ports");
            return this;
        }

        /**
         * Sets the secret of the cookies by which servers know clients that may send data with their SYN
         * ({@code TCP_FASTOPEN}, RFC 7413), as {@code net.ipv4.tcp_fastopen_key} does for Linux. All loops with this
         * configuration share one in any case; servers that one address stands for need the same, and one that is
         * started again with it still knows its clients.
         *
         * @param high the first eight bytes, not 0
         * @param low the last eight bytes, not 0
         */
        public Builder fastOpenKey(long high, long low) {
            if (high == 0 || low == 0) {
                throw new IllegalArgumentException("a fast open key of 16 random bytes is wanted, not zeros");
            }
            fastOpenKeyHigh = high;
            fastOpenKeyLow = low;
            return this;
        }

        /**
         * Gives the channels that are bound to IP addresses a host of their own on the device, beside the kernel's, as
         * MACVLAN does: with another MAC address and other IP addresses. It answers ARP, neighbour discovery and pings
         * by itself. Called again with the same MAC address it adds an address. As with MACVLAN, the host and the
         * machine it runs on do not reach each other on the same device.
         *
         * @param mac an unused unicast MAC address, such as {@code 02:00:00:00:00:05}
         * @param cidr an unused address of the link's subnet with the prefix length, such as {@code 10.0.0.5/24}
         * @param gatewayOrNull where to send what is not on the link; IPv6 routers are learned too
         */
        public Builder ownAddress(String mac, String cidr, String gatewayOrNull) {
            long parsed = MacAddress.parse(mac);
            if (ownMac != 0 && ownMac != parsed) {
                throw new IllegalArgumentException("a userspace host has one MAC address, not " + mac
                        + " beside the one named before");
            }
            ownMac = parsed;
            ownAddresses = with(ownAddresses, UserspaceAddress.parse(cidr));
            if (gatewayOrNull != null) {
                ownGateways = with(ownGateways, IpAddress.parse(gatewayOrNull));
            }
            return this;
        }

        /**
         * Sets whether an address of our own is used only after no other host on the link has claimed it (RFC 5227, RFC
         * 4862), which takes up to 7 seconds; the default. What is sent meanwhile waits as for an unknown neighbour.
         */
        public Builder detectDuplicateAddresses(boolean detect) {
            detectDuplicates = detect;
            return this;
        }

        /**
         * Returns the settings.
         *
         * @throws IllegalArgumentException when one is out of its range, which the message names
         */
        public RdmaRawIoHandlerConfig build() {
            // Refuses settings that contradict each other.
            tcp.toCore().minRtoNanos(minRtoNanos).build();
            return new RdmaRawIoHandlerConfig(copy());
        }
    }
}
