package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.internal.SystemPropertyUtil;
import io.rdmaraw.ffi.TransportVersion;
import io.rdmaraw.host.DeviceRequirements;
import io.rdmaraw.verbs.VerbsDevices;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Tells whether the transport can be used here. */
public final class RdmaRaw {
    private static final Throwable UNAVAILABILITY_CAUSE = probe();

    private RdmaRaw() {
    }

    private static Throwable probe() {
        if (SystemPropertyUtil.getBoolean("io.netty.transport.noNative", false)) {
            return new UnsupportedOperationException(
                    "native transports are switched off by -Dio.netty.transport.noNative=true");
        }
        String system = System.getProperty("os.name");
        if (!"Linux".equals(system)) {
            return new UnsupportedOperationException("it runs on Linux, and this is " + system
                    + ": use one of Netty's transports here");
        }
        Map<String, String> versions = TransportVersion.conflict();
        if (versions != null) {
            return new IllegalStateException("the class path has it in several versions, " + versions
                    + ": leave one of them, for all of io.rdmaraw");
        }
        Throwable nettyCause = NettyVersion.unavailabilityCause();
        if (nettyCause != null) {
            return nettyCause;
        }
        try {
            return VerbsDevices.names().isEmpty() ? VerbsDevices.softwareUnavailabilityCause() : null;
        } catch (Throwable t) {
            return explained(t);
        }
    }

    /** The first call of C fails in the initializer of a class, whose error has no message. */
    private static Throwable explained(Throwable failure) {
        for (Throwable t = failure; t != null; t = t.getCause()) {
            if (t instanceof IllegalCallerException) {
                return new UnsupportedOperationException("the JVM denies native access: start it with"
                        + " --enable-native-access=ALL-UNNAMED, or =io.rdmaraw where that is on the module path",
                        failure);
            }
        }
        return failure.getMessage() == null ? new IllegalStateException(failure.toString(), failure) : failure;
    }

    /** Tells whether at least one provider of the verbs could be loaded. */
    public static boolean isAvailable() {
        return UNAVAILABILITY_CAUSE == null;
    }

    /**
     * Does nothing if the transport is available.
     *
     * @throws UnsatisfiedLinkError otherwise, with the reason as cause
     */
    public static void ensureAvailability() {
        if (UNAVAILABILITY_CAUSE != null) {
            throw (Error) new UnsatisfiedLinkError("the RDMA raw-packet transport is not available: "
                    + UNAVAILABILITY_CAUSE.getMessage()).initCause(UNAVAILABILITY_CAUSE);
        }
    }

    /** Returns why the transport is not available, or null if it is. */
    public static Throwable unavailabilityCause() {
        return UNAVAILABILITY_CAUSE;
    }

    /**
     * Tries the device that these settings name: makes a loop, binds a datagram channel on it to a free port, and ends
     * both. Blocks for as long as that takes, some tenths of a second as a rule. Not to be called on an event loop.
     *
     * @return why channels with these settings would not work, or null if they do
     */
    public static Throwable unavailabilityCause(RdmaRawIoHandlerConfig config) {
        if (UNAVAILABILITY_CAUSE != null) {
            return UNAVAILABILITY_CAUSE;
        }
        RdmaRawEventLoopGroup group = null;
        try {
            group = new RdmaRawEventLoopGroup(1, config);
            ChannelFuture bound = new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                    .handler(new ChannelInboundHandlerAdapter()).bind(0).awaitUninterruptibly();
            bound.channel().close().awaitUninterruptibly();
            return bound.cause();
        } catch (RuntimeException | LinkageError e) {
            return e;
        } finally {
            if (group != null) {
                group.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
            }
        }
    }

    /**
     * Tells whether channels can work on a device here and now, which {@link #isAvailable()} does not: that is true
     * wherever the transport itself runs. Opens the device, so it takes some tenths of a second; not to be called on an
     * event loop.
     *
     * @param deviceName as for {@link RdmaRawIoHandlerConfig.Builder#device(String)}
     */
    public static boolean isAvailable(String deviceName) {
        return unavailabilityCause(deviceName) == null;
    }

    /**
     * Does nothing if channels can work on a device here and now.
     *
     * @throws UnsatisfiedLinkError otherwise; the message has everything that is wanting, and the cause what the device
     *         said
     */
    public static void ensureAvailability(String deviceName) {
        Throwable cause = unavailabilityCause(deviceName);
        if (cause != null) {
            throw (Error) new UnsatisfiedLinkError(cause.getMessage()).initCause(cause);
        }
    }

    /**
     * Returns why channels cannot work on a device here and now, or null if they can. The message names all that is
     * wanting, not only what the kernel refused first: capabilities, the interface, its state.
     */
    public static Throwable unavailabilityCause(String deviceName) {
        if (deviceName == null || deviceName.isEmpty()) {
            return new IllegalArgumentException("no device is named: name one, such as soft:xdp:eth0, or soft:loop for"
                    + " memory");
        }
        Throwable cause = unavailabilityCause(RdmaRawIoHandlerConfig.builder().device(deviceName).build());
        if (cause == null || cause == UNAVAILABILITY_CAUSE) {
            return cause;
        }
        return new IllegalStateException(deviceName + " cannot be used: " + cause.getMessage()
                + new DeviceRequirements().addition(deviceName, cause.getMessage()), cause);
    }

    /** Returns the version of the transport, such as {@code 1.2.3}, or {@code unknown} without its resources. */
    public static String version() {
        return TransportVersion.get();
    }

    /** Returns the names of the devices that exist now; more {@code soft:loop:NAME} devices come into being on use. */
    public static List<String> deviceNames() {
        ensureAvailability();
        return VerbsDevices.names();
    }
}
