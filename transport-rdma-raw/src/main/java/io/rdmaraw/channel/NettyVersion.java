package io.rdmaraw.channel;

import io.netty.channel.IoHandle;
import io.netty.util.Version;

/**
 * Tells whether the Netty of the class path has what this transport calls. With an older one channels would never open:
 * what is missing is noticed on the loop, which fails no promise for it.
 */
final class NettyVersion {
    /** The first whose loops tell a handle that it was registered. */
    private static final String OLDEST = "4.2.7";

    private NettyVersion() {
    }

    /** Returns what is wrong with the Netty of the class path, or null. */
    static Throwable unavailabilityCause() {
        return unavailabilityCause(IoHandle.class, Version.identify(IoHandle.class.getClassLoader())
                .get("netty-transport"));
    }

    /**
     * Returns what is wrong with a Netty, or null.
     *
     * @param ioHandle its {@code io.netty.channel.IoHandle}
     * @param versionOrNull of its jar; null where nothing tells
     */
    static Throwable unavailabilityCause(Class<?> ioHandle, Version versionOrNull) {
        try {
            ioHandle.getMethod("registered");
            return null;
        } catch (NoSuchMethodException e) {
            String version = versionOrNull == null ? "of an unknown version" : versionOrNull.artifactVersion();
            return new UnsupportedOperationException("Netty " + version + " on the class path is too old: use "
                    + OLDEST + " or newer for all jars of Netty", e);
        }
    }
}
