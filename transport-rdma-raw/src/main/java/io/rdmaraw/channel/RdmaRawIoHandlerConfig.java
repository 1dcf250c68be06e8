package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.netty.util.internal.UnstableApi;
import io.rdmaraw.channel.loop.TcpStackFactory;
import io.rdmaraw.channel.settings.MissingDeviceWarning;
import io.rdmaraw.host.userspace.UserspaceAddress;
import io.rdmaraw.host.userspace.UserspaceHostConfig;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.takeover.Takeover;
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

/**
 * The configuration of the event loops of a group: the device, the queues and their memory, and defaults of TCP.
 * Immutable; created with {@link #builder()}.
 *
 * {@snippet :
 * RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder()
 *         .device("soft:xdp:eth0")
 *         .spin(50, TimeUnit.MICROSECONDS)
 *         .build();
 * EventLoopGroup group = new RdmaRawEventLoopGroup(2, config);
 * }
 */
public final class RdmaRawIoHandlerConfig {
    /** System property with the default of {@link Builder#compressedCompletions}. */
    public static final String COMPRESSED_COMPLETIONS_PROPERTY = "io.rdmaraw.compressedCompletions";
    /** System property with the default of {@link Builder#spin}, in nanoseconds. */
    public static final String SPIN_PROPERTY = "io.rdmaraw.spinNanos";
    /** System property with the default of {@link Builder#drainTimeout}, in milliseconds. */
    public static final String DRAIN_TIMEOUT_PROPERTY = "io.rdmaraw.drainTimeoutMillis";
    /** System property with the default of {@link Builder#segmentationOffload}. */
    public static final String SEGMENTATION_OFFLOAD_PROPERTY = "io.rdmaraw.segmentationOffload";

    /** Maximum number of parts of a TCP segment: its payload slices, its headers and padding. */
    private static final int DEFAULT_SEND_SGE = Segment.MAX_SLICES + 2;
    private static final int DEEP_QUEUE_SEND_SGE = 4;
    private static final int MAX_DEPTH_WITH_DEFAULT_SGE = 4096;
    /** Default maximum of Linux's tcp_rmem. */
    private static final int MAX_RECEIVE_BUFFER_BYTES = 6 * 1024 * 1024;
    /** A receive buffer may use a quarter of the slots, because received bytes stay in slots until they are read. */
    private static final int RECEIVE_BUFFER_DIVISOR = 4;

    private static final RdmaRawIoHandlerConfig DEFAULT = builder().build();

    /**
     * Builder from which this configuration was built. Never modified. Derived values are stored in the fields below.
     */
    private final Builder builder;
    private final FrameQueueOptions queueOptions;
    private final long spinNanos;
    private final long drainTimeoutNanos;
    private final boolean segmentationOffload;
    private final int maxReceiveBufferBytes;
    private final int initialReceiveBufferBytes;
    private final int maxUnresolvedPackets;
    private final String device;
    private final MissingDeviceWarning missingDeviceWarning;
    private final NioChannels nioChannels;
    private final UserspaceHostConfig userspaceHost;
    private final long fastOpenKeyHigh;
    private final long fastOpenKeyLow;
    private final RdmaRawTcpLimits tcpLimits;
    private final Predicate<InetSocketAddress> listensByDevice;
    private final Predicate<InetSocketAddress> connectsByDevice;
    private final Takeover takeover;
    private final PortHandover handover;

    private RdmaRawIoHandlerConfig(Builder builder) {
        this.builder = builder;
        queueOptions = new FrameQueueOptions(builder.receiveQueueDepth, builder.sendQueueDepth, builder.sendSge(),
                builder.slotCount, builder.slotBytes, builder.directVerbs, builder.compressedCompletions,
                builder.stridingReceive);
        spinNanos = builder.spinNanos;
        drainTimeoutNanos = builder.drainTimeoutNanos;
        tcpLimits = builder.tcpLimits;
        segmentationOffload = builder.segmentationOffload;
        maxReceiveBufferBytes = builder.maxReceiveBufferBytes >= 0 ? builder.maxReceiveBufferBytes
                : (int) Math.min(MAX_RECEIVE_BUFFER_BYTES,
                        (long) builder.slotCount * builder.slotBytes / RECEIVE_BUFFER_DIVISOR);
        maxUnresolvedPackets = builder.maxUnresolvedPackets;
        device = builder.device != null ? builder.device : DeviceName.HOST_LOOPBACK;
        missingDeviceWarning = new MissingDeviceWarning(builder.device == null && builder.userspaceMac == 0);
        nioChannels = builder.nioChannels;
        listensByDevice = builder.listensByDevice;
        connectsByDevice = builder.connectsByDevice;
        takeover = builder.takeover;
        initialReceiveBufferBytes = builder.tcp.initialReceiveBufferBytes();
        handover = takeover == null ? new PortHandover() : takeover.handover();
        SecureRandom random = new SecureRandom();
        fastOpenKeyHigh = builder.fastOpenKeyHigh != 0 ? builder.fastOpenKeyHigh
                : takeover != null ? takeover.fastOpenKeyHigh() : random.nextLong();
        fastOpenKeyLow = builder.fastOpenKeyLow != 0 ? builder.fastOpenKeyLow
                : takeover != null ? takeover.fastOpenKeyLow() : random.nextLong();
        userspaceHost = builder.userspaceMac == 0 ? null : new UserspaceHostConfig(builder.userspaceMac,
                builder.userspaceAddresses, builder.userspaceGateways, builder.detectDuplicateAddresses);
    }

    /** Returns the default configuration. */
    public static RdmaRawIoHandlerConfig defaults() {
        return DEFAULT;
    }

    /** Returns a builder with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns a builder with the settings of this configuration. Values that were not set explicitly are derived again
     * when the new configuration is built. A fast open key that was not set is generated again.
     */
    public Builder toBuilder() {
        return builder.copy();
    }

    /**
     * Returns the settings of the TCP core for one loop.
     *
     * @param mtuBytes MTU of the device
     * @param maxParts maximum number of payload parts from which the device gathers a frame
     * @param segmentationBytes maximum payload that the device segments; 0 without segmentation offload
     */
    TcpConfig tcpConfig(int mtuBytes, int maxParts, int segmentationBytes) {
        return tcpLimits.applyTo(builder.tcp.toConfigBuilder()).mtuBytes(mtuBytes)
                .maxSlices(Math.clamp(maxParts, 1, Segment.MAX_SLICES)).segmentationBytes(segmentationBytes)
                .maxReceiveBufferBytes(maxReceiveBufferBytes)
                .congestionControl(CongestionControls.named(builder.congestionControl))
                .minRtoNanos(builder.minRtoNanos)
                .fastOpenKey(fastOpenKeyHigh, fastOpenKeyLow)
                .secrets(takeover == null ? TcpStackFactory.SECRETS : takeover.secrets()).build();
    }

    TcpStackOptions tcpOptions() {
        return new TcpStackOptions(segmentationOffload, frameOrigin(), this::tcpConfig, handover);
    }

    FrameQueueOptions queueOptions() {
        return queueOptions;
    }

    /** Returns the initial size of receive buffers for channels without {@code SO_RCVBUF}, in bytes. */
    int initialReceiveBufferBytes() {
        return initialReceiveBufferBytes;
    }

    /** Returns the congestion control of connections that have not set {@link RdmaRawChannelOption#TCP_CONGESTION}. */
    public String congestionControl() {
        return builder.congestionControl;
    }

    /** Returns the device that datagram, server and socket channels use. */
    public String device() {
        return device;
    }

    /** Returns the warning for servers that only this process can reach because no device was set. */
    MissingDeviceWarning missingDeviceWarning() {
        return missingDeviceWarning;
    }

    /** Returns the policy for NIO channels of TCP and UDP that are registered with the loops. */
    public NioChannels nioChannels() {
        return nioChannels;
    }

    /** Returns the takeover that hands over the ports of servers to another process; null without one. */
    Takeover takeoverOrNull() {
        return takeover;
    }

    /** Returns whether the device serves a listener on this local address; otherwise the kernel does. */
    boolean listensByDevice(InetSocketAddress local) {
        return listensByDevice.test(local);
    }

    /** Returns whether the device carries a connection to this peer; otherwise the kernel does. */
    boolean connectsByDevice(InetSocketAddress remote) {
        return connectsByDevice.test(remote);
    }

    /** Returns the origin of the frames that channels with IP addresses receive: this host or a link. */
    FrameOrigin frameOrigin() {
        return userspaceHost == null && new DeviceName(device).isLoopback() ? FrameOrigin.HOST : FrameOrigin.LINK;
    }

    /** Returns the userspace host of the channels, or null if they use the addresses of the kernel. */
    UserspaceHostConfig userspaceHostOrNull() {
        return userspaceHost;
    }

    /** Returns the time that a loop without work polls before it sleeps, in nanoseconds. */
    public long spinNanos() {
        return spinNanos;
    }

    /**
     * Returns the maximum time that a loop waits for the peers of closed TCP channels when it shuts down, in
     * nanoseconds.
     */
    public long drainTimeoutNanos() {
        return drainTimeoutNanos;
    }

    /** Returns the maximum size to which TCP receive buffers grow automatically, in bytes; 0 if they do not grow. */
    public int maxReceiveBufferBytes() {
        return maxReceiveBufferBytes;
    }

    /** Returns the maximum number of packets per loop that wait for the MAC address of their next hop. */
    public int maxUnresolvedPackets() {
        return maxUnresolvedPackets;
    }

    /** Returns whether TCP segmentation offload is used on devices that support it. */
    public boolean segmentationOffload() {
        return segmentationOffload;
    }

    /** Returns the depth of a loop's receive queue in frames. */
    public int receiveQueueDepth() {
        return queueOptions.receiveQueueDepth();
    }

    /** Returns the depth of a loop's send queue in frames. */
    public int sendQueueDepth() {
        return queueOptions.sendQueueDepth();
    }

    /** Returns the maximum number of parts from which the device gathers a frame. Frames of more parts are copied. */
    public int maxSendSge() {
        return queueOptions.maxSendSge();
    }

    /** Returns the number of slots of registered memory per loop and device port. */
    public int slotCount() {
        return queueOptions.slotCount();
    }

    /** Returns the size of a slot in bytes. */
    public int slotBytes() {
        return queueOptions.slotBytes();
    }

    /** Returns whether the rings of mlx5 devices are accessed directly. */
    public DirectAccess directVerbs() {
        return queueOptions.directVerbs();
    }

    /** Returns whether mlx5 devices compress the completions of received frames. */
    public boolean compressedCompletions() {
        return queueOptions.compressedCompletions();
    }

    /** Returns whether frames are received with striding receive queues. */
    public StridingReceive stridingReceive() {
        return queueOptions.stridingReceive();
    }

    /** Returns the settings that identify a group in a log. */
    @Override
    public String toString() {
        return "RdmaRawIoHandlerConfig(device " + device + (missingDeviceWarning.isDeviceMissing() ? " by default" : "")
                + (userspaceHost == null ? "" : ", host of its own " + userspaceHost.addresses().stream()
                        .map(own -> own.address() + "/" + own.prefixLength()).toList())
                + ", spin " + spinNanos / 1000.0 + " us, queues " + receiveQueueDepth() + '/' + sendQueueDepth()
                + ", " + slotCount() + " slots of " + slotBytes() + " bytes, direct verbs " + directVerbs()
                + (compressedCompletions() ? ", compressed completions" : "")
                + (stridingReceive() == StridingReceive.NEVER ? "" : ", striding receive " + stridingReceive())
                + (segmentationOffload ? "" : ", no segmentation offload") + ", NIO channels " + nioChannels + ')';
    }

    /**
     * Builds configurations. A value out of range is rejected with an {@link IllegalArgumentException}: by the setter
     * if the range does not depend on other settings, otherwise by {@link #build()}. Not thread-safe.
     */
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
        /** Negative while the value is derived from the slots. */
        private int maxReceiveBufferBytes = -1;
        private long spinNanos = Math.max(0, Long.getLong(SPIN_PROPERTY, TimeUnit.MICROSECONDS.toNanos(20)));
        private long drainTimeoutNanos = TimeUnit.MILLISECONDS.toNanos(Math.max(0,
                Long.getLong(DRAIN_TIMEOUT_PROPERTY, TimeUnit.SECONDS.toMillis(5))));
        private int maxUnresolvedPackets = 128;
        /** Null until a device is set. */
        private String device;
        private NioChannels nioChannels = NioChannels.ofProperty();
        private RdmaRawTcpLimits tcpLimits = new RdmaRawTcpLimits();
        private RdmaRawTcpSettings tcp = new RdmaRawTcpSettings();
        private String congestionControl = "cubic";
        private long minRtoNanos = TimeUnit.MILLISECONDS.toNanos(200);
        private Predicate<InetSocketAddress> listensByDevice = local -> true;
        private Predicate<InetSocketAddress> connectsByDevice = remote -> true;
        private Takeover takeover;
        private long fastOpenKeyHigh;
        private long fastOpenKeyLow;
        private long userspaceMac;
        /** Immutable, like the values of all fields. Therefore copying the fields copies the builder. */
        private List<UserspaceAddress> userspaceAddresses = List.of();
        private List<IpAddress> userspaceGateways = List.of();
        private boolean detectDuplicateAddresses = true;

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

        /**
         * Sets the depth of a loop's receive queue: the number of frames that can arrive between two polls. A power of
         * two, at least 64; default 1024.
         */
        public Builder receiveQueueDepth(int frames) {
            receiveQueueDepth = frames;
            return this;
        }

        /**
         * Sets the depth of a loop's send queue: the number of frames that the device can hold for sending. A power of
         * two, at least 64; default 1024.
         */
        public Builder sendQueueDepth(int frames) {
            sendQueueDepth = frames;
            return this;
        }

        /**
         * Sets whether the rings of mlx5 devices are accessed directly, which avoids a library call per burst. The
         * default is the system property {@value DirectAccess#PROPERTY}, or {@link DirectAccess#AUTO} if it is not set.
         */
        @UnstableApi
        public Builder directVerbs(DirectAccess choice) {
            directVerbs = ObjectUtil.checkNotNull(choice, "choice");
            return this;
        }

        /**
         * Sets whether mlx5 devices compress the completions of received frames. Compression saves most of the PCIe
         * bandwidth that completions use. It helps if that bandwidth limits the rate of small frames.
         *
         * <p>Has an effect only with direct access to the rings ({@link #directVerbs(DirectAccess)}), on devices that
         * support it. The default is the system property {@value #COMPRESSED_COMPLETIONS_PROPERTY}, or false if it is
         * not set.
         */
        @UnstableApi
        public Builder compressedCompletions(boolean compressed) {
            compressedCompletions = compressed;
            return this;
        }

        /**
         * Sets whether frames are received with striding receive queues, where one receive request is a long buffer for
         * many frames. Has an effect only with direct access to the rings of an mlx5 device
         * ({@link #directVerbs(DirectAccess)}).
         *
         * <p>Half of the slot memory is divided into such buffers. A buffer is reused when handlers have released all
         * frames in it. The default is the system property {@value StridingReceive#PROPERTY}, or
         * {@link StridingReceive#NEVER} if it is not set.
         */
        @UnstableApi
        public Builder stridingReceive(StridingReceive choice) {
            stridingReceive = ObjectUtil.checkNotNull(choice, "choice");
            return this;
        }

        /**
         * Sets the maximum number of parts from which the device gathers a frame: at least 2. Frames of more parts are
         * copied into one buffer.
         *
         * <p>The default is 18, the maximum of a TCP segment. With a send queue deeper than 4096 it is 4, because
         * larger requests would exceed the ring of an mlx5 device.
         */
        public Builder maxSendSge(int parts) {
            maxSendSge = parts;
            return this;
        }

        private int sendSge() {
            if (maxSendSge != 0) {
                return maxSendSge;
            }
            return sendQueueDepth <= MAX_DEPTH_WITH_DEFAULT_SGE ? DEFAULT_SEND_SGE : DEEP_QUEUE_SEND_SGE;
        }

        /**
         * Sets whether the device segments TCP payload (TSO), if it supports that. {@link #maxSendSge(int)} limits the
         * number of buffers that such a payload is gathered from, so small values reduce the benefit. The default is
         * the system property {@value #SEGMENTATION_OFFLOAD_PROPERTY}, or true if it is not set.
         */
        public Builder segmentationOffload(boolean offload) {
            segmentationOffload = offload;
            return this;
        }

        /**
         * Sets the maximum size to which TCP receive buffers grow with the bytes that the user reads per round trip
         * (Linux: tcp_rmem). Applies to connections without {@code SO_RCVBUF}.
         *
         * <p>Range: 0 to 2^30 bytes; 0 disables the growth. The default is a quarter of the slot memory, at most 6 MiB,
         * because received data stays in slots until it is read.
         *
         * @throws IllegalArgumentException if the value is out of range
         */
        public Builder maxReceiveBufferBytes(int bytes) {
            if (bytes < 0 || bytes > 1 << 30) {
                throw new IllegalArgumentException("maxReceiveBufferBytes is " + bytes + "; it must lie in 0..2^30");
            }
            maxReceiveBufferBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum number of packets per loop that wait for the MAC address of their next hop: 1 to 65536,
         * default 128. At most half of the packets may wait for the same next hop. If a limit is reached, an old packet
         * is dropped: the oldest one for the same next hop, or the oldest of all if only a few wait for that hop.
         *
         * <p>A waiting packet is a copy, so that unreachable peers cannot occupy the loop's slots. The copy takes up to
         * an MTU of heap memory; a datagram takes its length in direct memory. RFC 1122 section 2.3.2.2 requires that
         * the latest packet is saved. Linux limits bytes per next hop instead
         * (net.ipv4.neigh.default.unres_qlen_bytes).
         *
         * @throws IllegalArgumentException if the value is out of range
         */
        public Builder maxUnresolvedPackets(int packets) {
            if (packets < 1 || packets > 1 << 16) {
                throw new IllegalArgumentException("maxUnresolvedPackets is " + packets + "; it must lie in 1..65536");
            }
            maxUnresolvedPackets = packets;
            return this;
        }

        /**
         * Sets the congestion control of connections that have not set {@link RdmaRawChannelOption#TCP_CONGESTION}
         * (Linux: net.ipv4.tcp_congestion_control): {@code cubic}, which is the default, {@code reno}, {@code dctcp} or
         * {@code bbr}.
         *
         * @throws IllegalArgumentException if the name is unknown
         */
        public Builder congestionControl(String name) {
            CongestionControls.named(name);
            congestionControl = name;
            return this;
        }

        /**
         * Sets the lower bound of the term that TCP adds to the smoothed round trip time for the retransmission timeout
         * (Linux: net.ipv4.tcp_rto_min_us): RTO = SRTT + max(this, 4 RTTVAR). 1 ms to 60 s, default 200 ms.
         *
         * <p>It should exceed the time for which peers delay acknowledgements. A lower value detects losses sooner, but
         * segments are retransmitted needlessly to peers that delay longer.
         *
         * @throws IllegalArgumentException if the value is out of range
         */
        public Builder minRto(long duration, TimeUnit unit) {
            long nanos = unit.toNanos(duration);
            TcpConfig.builder().minRtoNanos(nanos);
            minRtoNanos = nanos;
            return this;
        }

        /** Sets the defaults of TCP for channels that have not set an option. The settings are copied. */
        public Builder tcp(RdmaRawTcpSettings settings) {
            tcp = ObjectUtil.checkNotNull(settings, "settings").copy();
            return this;
        }

        /** Sets the limits for the resources that peers can make the TCP of each loop use. The limits are copied. */
        @UnstableApi
        public Builder tcpLimits(RdmaRawTcpLimits limits) {
            tcpLimits = ObjectUtil.checkNotNull(limits, "limits").copy();
            return this;
        }

        /**
         * Sets the number of slots of registered memory per loop and device port. Default 4096. At least
         * {@link #receiveQueueDepth(int)} + 256. A port that several loops share needs at least
         * {@link #receiveQueueDepth(int)} + 320.
         *
         * <p>Slots that exceed the receive queue are available to handlers. When these run out, received frames are
         * copied.
         */
        public Builder slotCount(int slots) {
            slotCount = slots;
            return this;
        }

        /**
         * Sets the size of a slot in bytes: a power of two, at least 64; default 2048, for an MTU of up to 1582. The
         * largest frame must fit: the MTU, the Ethernet header and a VLAN tag, 18 bytes. 448 bytes of slots of 2048
         * bytes or more hold no frame: frames start at different offsets, so that they use the whole CPU cache.
         */
        public Builder slotBytes(int bytes) {
            slotBytes = bytes;
            return this;
        }

        /**
         * Sets how long a loop without work polls before it sleeps. 0 sleeps immediately. Polling occupies a core and
         * saves the wake-up time of tens of microseconds.
         *
         * <p>A loop compares the time that polling costs with the time that it saves. If frames usually arrive later
         * than half of this time after polling began, the loop sleeps at once and polls only in occasional trials. The
         * default is the system property {@value #SPIN_PROPERTY} in nanoseconds, or 20 microseconds if it is not set.
         */
        public Builder spin(long duration, TimeUnit unit) {
            spinNanos = unit.toNanos(ObjectUtil.checkPositiveOrZero(duration, "duration"));
            return this;
        }

        /**
         * Sets how long a loop that shuts down waits for the peers of closed TCP channels to acknowledge all data and
         * the FIN. The loop ends as soon as they have done so. Connections that remain after that time are reset.
         *
         * <p>This time starts after the quiet period of {@code shutdownGracefully} and may exceed its timeout. 0 resets
         * the connections immediately. The default is the system property {@value #DRAIN_TIMEOUT_PROPERTY} in
         * milliseconds, or 5 seconds if it is not set.
         */
        public Builder drainTimeout(long duration, TimeUnit unit) {
            drainTimeoutNanos = unit.toNanos(ObjectUtil.checkPositiveOrZero(duration, "duration"));
            return this;
        }

        /**
         * Sets the device that datagram, server and socket channels use. Device names are those of
         * {@link RdmaRawAddress}.
         *
         * {@snippet :
         * new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0").build());
         * }
         *
         * <p>The default is {@code soft:loop}, which only this process can reach. A warning is logged when the first
         * channel is bound there to an address other than loopback.
         */
        public Builder device(String deviceName) {
            device = ObjectUtil.checkNonEmpty(deviceName, "deviceName");
            return this;
        }

        /**
         * Sets the policy for NIO channels of TCP and UDP that are registered with the loops. The kernel carries these
         * channels. The default is the system property {@value NioChannels#PROPERTY}, or {@link NioChannels#REPORTED}
         * if it is not set.
         */
        public Builder nioChannels(NioChannels choice) {
            nioChannels = ObjectUtil.checkNotNull(choice, "choice");
            return this;
        }

        /**
         * Selects the bind addresses that the device serves. The kernel serves all other listeners; they use the same
         * channel classes and loops. By default, the device serves all listeners.
         *
         * @param local predicate for the address passed to {@code bind}; called on the loops' threads
         */
        @UnstableApi
        public Builder listensByDevice(Predicate<InetSocketAddress> local) {
            listensByDevice = ObjectUtil.checkNotNull(local, "local");
            return this;
        }

        /**
         * Selects the peers to which the device carries connections, if its link leads there. The kernel carries all
         * other connections; they use the same channel classes and loops. By default, the device carries all
         * connections.
         *
         * @param remote predicate for the peer's address; called on the loops' threads
         */
        @UnstableApi
        public Builder connectsByDevice(Predicate<InetSocketAddress> remote) {
            connectsByDevice = ObjectUtil.checkNotNull(remote, "remote");
            return this;
        }

        /**
         * Makes TCP servers take over their ports from the previous process and hand them over to the next one; see
         * {@link RdmaRawTakeover}. By default a port is not handed over.
         */
        @UnstableApi
        public Builder takeover(RdmaRawTakeover handover) {
            takeover = ObjectUtil.checkNotNull(handover, "handover").takeover();
            return this;
        }

        /**
         * Sets the key of the cookies for clients that send data with their SYN ({@code TCP_FASTOPEN}, RFC 7413), like
         * {@code net.ipv4.tcp_fastopen_key} of Linux. By default the key is random; all loops with this configuration
         * share it.
         *
         * <p>Servers behind one address need the same key. A server that keeps its key across a restart accepts the
         * cookies of its previous run.
         *
         * @param high the first eight bytes, not 0
         * @param low the last eight bytes, not 0
         * @throws IllegalArgumentException if a part is 0
         */
        public Builder fastOpenKey(long high, long low) {
            if (high == 0 || low == 0) {
                throw new IllegalArgumentException("each half of the fast open key must be non-zero: pass 16 random"
                        + " bytes");
            }
            fastOpenKeyHigh = high;
            fastOpenKeyLow = low;
            return this;
        }

        /**
         * Adds an address of a userspace host. The channels then use the addresses of that host instead of the
         * kernel's. As with MACVLAN, the host has its own MAC address and IP addresses on the device. It answers ARP,
         * neighbor discovery and pings itself.
         *
         * <p>Further calls with the same MAC address add addresses. As with MACVLAN, the userspace host and its machine
         * cannot reach each other over this device.
         *
         * @param mac an unused unicast MAC address, such as {@code 02:00:00:00:00:05}
         * @param cidr an unused address of the link's subnet with its prefix length, such as {@code 10.0.0.5/24}
         * @param gatewayOrNull gateway for destinations that are not on the link, or null. IPv6 routers are also
         *         discovered automatically
         * @throws IllegalArgumentException if an argument is malformed or a different MAC address was set before
         */
        public Builder userspaceAddress(String mac, String cidr, String gatewayOrNull) {
            long parsed = MacAddress.parse(mac);
            if (userspaceMac != 0 && userspaceMac != parsed) {
                throw new IllegalArgumentException("the userspace host already has another MAC address than " + mac
                        + ": pass the same address in each call");
            }
            userspaceMac = parsed;
            userspaceAddresses = with(userspaceAddresses, UserspaceAddress.parse(cidr));
            if (gatewayOrNull != null) {
                userspaceGateways = with(userspaceGateways, IpAddress.parse(gatewayOrNull));
            }
            return this;
        }

        /**
         * Sets whether an address of the userspace host is used only after duplicate address detection (RFC 5227, RFC
         * 4862). Default true. Detection takes up to 7 seconds. Packets sent during that time are queued as for an
         * unresolved next hop.
         */
        public Builder detectDuplicateAddresses(boolean detect) {
            detectDuplicateAddresses = detect;
            return this;
        }

        /**
         * Builds the configuration.
         *
         * @throws IllegalArgumentException if a setting is out of range or contradicts another one; the message names
         *         it
         */
        public RdmaRawIoHandlerConfig build() {
            // Rejects settings that contradict each other.
            tcp.toConfigBuilder().minRtoNanos(minRtoNanos).build();
            return new RdmaRawIoHandlerConfig(copy());
        }
    }
}
