package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.internal.SystemPropertyUtil;
import io.rdmaraw.channel.settings.NettyVersion;
import io.rdmaraw.ffi.TransportVersion;
import io.rdmaraw.host.DeviceRequirements;
import io.rdmaraw.verbs.objects.VerbsDevices;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Checks whether the transport, or one of its devices, is available on this host.
 *
 * {@snippet :
 * RdmaRaw.ensureAvailability("soft:xdp:eth0"); // throws UnsatisfiedLinkError with the reason
 * }
 *
 * <p>Methods without a device check only that the transport itself can run: operating system, versions and native
 * libraries. This check runs once, when the class is initialized. Methods with a device or a configuration open the
 * device each time. All methods are thread-safe.
 */
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
            return new UnsupportedOperationException("the transport runs on Linux, and this is " + system
                    + ": use one of Netty's transports here");
        }
        Map<String, String> versions = TransportVersion.conflict();
        if (versions != null) {
            return new IllegalStateException("the class path has the transport in several versions, " + versions
                    + ": use one version for all artifacts of io.rdmaraw, and remove the others");
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

    /**
     * Returns a failure whose message explains it. If the JVM denies native access, the message says how to permit it.
     * The first native call runs in a class initializer, whose error has no message.
     */
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

    /**
     * Returns whether the transport can run in this process: {@code -Dio.netty.transport.noNative=true} is not set, the
     * system is Linux, the versions fit, the JVM permits native access, and at least one provider of verbs could be
     * loaded. True does not mean that a device can be used; see {@link #isAvailable(String)}.
     */
    public static boolean isAvailable() {
        return UNAVAILABILITY_CAUSE == null;
    }

    /**
     * Throws an error if the transport cannot run in this process.
     *
     * @throws UnsatisfiedLinkError if the transport is not available; its cause is {@link #unavailabilityCause()}
     */
    public static void ensureAvailability() {
        if (UNAVAILABILITY_CAUSE != null) {
            throw (Error) new UnsatisfiedLinkError("the RDMA raw-packet transport is not available: "
                    + UNAVAILABILITY_CAUSE.getMessage()).initCause(UNAVAILABILITY_CAUSE);
        }
    }

    /** Returns the reason why the transport cannot run in this process, or null if it can. */
    public static Throwable unavailabilityCause() {
        return UNAVAILABILITY_CAUSE;
    }

    /**
     * Checks whether channels work with these settings. The check creates a loop, binds a datagram channel to a free
     * port on the configured device, and closes both.
     *
     * <p>Blocks, usually for some tenths of a second. Must not be called on an event loop.
     *
     * @return the reason why channels with these settings do not work, or null if they do
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
            if (bound.channel().isRegistered()) {
                bound.channel().close().awaitUninterruptibly();
            }
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
     * Returns whether channels can use a device now. The check opens the device.
     *
     * <p>Blocks, usually for some tenths of a second. Must not be called on an event loop.
     *
     * @param deviceName as for {@link RdmaRawIoHandlerConfig.Builder#device(String)}
     */
    public static boolean isAvailable(String deviceName) {
        return unavailabilityCause(deviceName) == null;
    }

    /**
     * Throws an error if channels cannot use a device now. Blocks like {@link #isAvailable(String)}.
     *
     * @throws UnsatisfiedLinkError if the device cannot be used. The message lists all missing requirements. The cause
     *         is the error reported by the device.
     */
    public static void ensureAvailability(String deviceName) {
        Throwable cause = unavailabilityCause(deviceName);
        if (cause != null) {
            throw (Error) new UnsatisfiedLinkError(cause.getMessage()).initCause(cause);
        }
    }

    /**
     * Returns the reason why channels cannot use a device now, or null if they can. The message lists all missing
     * requirements, not only the first one that the kernel reported: capabilities, the interface and its state. Blocks
     * like {@link #isAvailable(String)}.
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
                + new DeviceRequirements().messageSuffix(deviceName, cause.getMessage()), cause);
    }

    /**
     * Returns the version of the transport, such as {@code 1.2.3}, or {@code unknown} if its resource file is missing.
     */
    public static String version() {
        return TransportVersion.get();
    }

    /**
     * Returns the names of the devices that exist now. A {@code soft:loop:NAME} device is created when it is first
     * used.
     *
     * @throws UnsatisfiedLinkError if the transport is not available
     */
    public static List<String> deviceNames() {
        ensureAvailability();
        return VerbsDevices.names();
    }
}
