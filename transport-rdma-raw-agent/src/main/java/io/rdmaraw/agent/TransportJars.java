package io.rdmaraw.agent;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * The jars of the transport, which are packed in the agent's jar. They are loaded by class loaders below those of
 * Netty, whereas the agent's own jar is on the bootstrap class path.
 */
final class TransportJars {
    private static final String DIRECTORY = "META-INF/rdmaraw/";

    private final File agentJar;
    private List<URL> unpacked;

    TransportJars(File agentJar) {
        this.agentJar = agentJar;
    }

    /** Unpacks the jars, once, to files that are deleted when the process exits. Thread-safe. */
    synchronized URL[] unpack() throws IOException {
        if (unpacked == null) {
            List<URL> urls = new ArrayList<>();
            try (JarFile jar = new JarFile(agentJar)) {
                for (JarEntry entry : jar.stream().filter(TransportJars::isTransport).toList()) {
                    Path copy = Files.createTempFile("netty-transport-rdma-raw", ".jar");
                    copy.toFile().deleteOnExit();
                    try (InputStream in = jar.getInputStream(entry)) {
                        Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
                    }
                    urls.add(copy.toUri().toURL());
                }
            }
            if (urls.isEmpty()) {
                throw new IOException(agentJar + " has no jars of the transport in " + DIRECTORY
                        + "; take the agent's jar as the build makes it");
            }
            unpacked = urls;
        }
        return unpacked.toArray(URL[]::new);
    }

    private static boolean isTransport(JarEntry entry) {
        return entry.getName().startsWith(DIRECTORY) && entry.getName().endsWith(".jar");
    }
}
