package io.rdmaraw.agent;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.net.URL;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One copy of Netty in the process, as seen by class loaders. Before the first class is rewritten, the agent decides
 * for the whole copy whether its program can use the transport. Thread-safe.
 */
final class NettyCopy {
    private static final Map<ClassLoader, Map<String, Optional<NettyCopy>>> BY_LOADER =
            Collections.synchronizedMap(new WeakHashMap<>());
    private static final Map<String, NettyCopy> BY_LOCATION = new ConcurrentHashMap<>();

    private final String version;
    private final boolean isNewEnough;
    /** Locations of the program's classes that have been scanned. */
    private final Set<String> scanned = ConcurrentHashMap.newKeySet();
    private volatile String refusal;
    private boolean isReported;

    private NettyCopy(String version, boolean isNewEnough) {
        this.version = version;
        this.isNewEnough = isNewEnough;
        if (!isNewEnough) {
            refusal = version + " is too old for the transport, which wants Netty 4.2.7 or newer";
        }
    }

    /** Returns the copy that the classes of a loader use, or null if they see none. Loads no class. */
    static NettyCopy of(ClassLoader loader, NettyNames names) {
        Map<String, Optional<NettyCopy>> copies =
                BY_LOADER.computeIfAbsent(loader, key -> new ConcurrentHashMap<>());
        Optional<NettyCopy> known = copies.get(names.nettyPackage());
        if (known == null) {
            known = Optional.ofNullable(find(loader, names));
            if (known.isPresent()) {
                copies.put(names.nettyPackage(), known);
            }
        }
        return known.orElse(null);
    }

    private static NettyCopy find(ClassLoader loader, NettyNames names) {
        URL location = loader.getResource(names.internalPrefix() + "Channel.class");
        if (location == null) {
            return null;
        }
        NettyCopy known = BY_LOCATION.get(location.toString());
        if (known != null) {
            return known;
        }
        NettyCopy copy = new NettyCopy(version(loader), isNewEnough(loader, names));
        NettyCopy other = BY_LOCATION.putIfAbsent(location.toString(), copy);
        return other == null ? copy : other;
    }

    /** Before 4.2.7, loops did not notify handles of their registration. */
    private static boolean isNewEnough(ClassLoader loader, NettyNames names) {
        try (InputStream in = loader.getResourceAsStream(names.internalPrefix() + "IoHandle.class")) {
            return in != null && ClassFile.of().parse(in.readAllBytes()).methods().stream()
                    .anyMatch(method -> method.methodName().equalsString("registered"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String version(ClassLoader netty) {
        try {
            // Each jar of Netty has such a file for its own module.
            for (URL url : Collections.list(netty.getResources("META-INF/io.netty.versions.properties"))) {
                Properties versions = new Properties();
                try (InputStream in = url.openStream()) {
                    versions.load(in);
                }
                String version = versions.getProperty("netty-transport.version");
                if (version != null) {
                    return "Netty " + version;
                }
            }
        } catch (IOException e) {
            // The version is only used in messages.
        }
        return "Netty of an unknown version";
    }

    /** Returns the name of the version, for messages. */
    String version() {
        return version;
    }

    /** Returns why programs on this copy stay on the kernel's transports, or null. */
    String refusal() {
        return refusal;
    }

    /** Keeps programs on this copy on the kernel's transports from now on. */
    void refuse(String reason, AgentReport report) {
        if (refusal == null) {
            refusal = reason;
            report.refused(reason);
        }
    }

    /** Reports the refusal once, when the first class of Netty is loaded. */
    void reportRefusal(AgentReport report) {
        synchronized (this) {
            if (isReported) {
                return;
            }
            isReported = true;
        }
        report.disabledWhileLoading(refusal);
    }

    /** Returns whether the classes of this version can be rewritten. */
    boolean isNewEnough() {
        return isNewEnough;
    }

    /** Scans the jar or directory that a class comes from, unless it has been scanned. */
    void scan(ProtectionDomain domain, NettyNames names, ClassLoader loader, AgentReport report) {
        CodeSource source = domain == null ? null : domain.getCodeSource();
        if (source == null || source.getLocation() == null || !scanned.add(source.getLocation().toString())) {
            return;
        }
        String reason = new ProgramScan(names, loader).refusalReason(source.getLocation());
        if (reason != null) {
            refuse(reason, report);
        }
    }
}
