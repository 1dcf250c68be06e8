package io.rdmaraw.agent;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Loads the transport's classes. Its parent is the class loader of Netty. If Netty was relocated to another package,
 * the classes are changed to use that package.
 */
final class TransportLoader extends URLClassLoader {
    static {
        registerAsParallelCapable();
    }

    // Not single constants, because tools that relocate Netty would rewrite them.
    private static final String NETTY = String.join(".", "io", "netty") + ".";
    private static final String NETTY_INTERNAL = NETTY.replace('.', '/');

    private final String nettyPackage;
    private final String relocatedInternal;
    private volatile LoadedTransport transport;

    TransportLoader(URL[] jars, ClassLoader netty, String nettyPackage) {
        super("rdma-raw", jars, netty);
        this.nettyPackage = nettyPackage;
        relocatedInternal = nettyPackage.replace('.', '/') + "/";
    }

    /** Returns the transport with these classes; null until it is known to be available. */
    LoadedTransport transport() {
        return transport;
    }

    void setTransport(LoadedTransport loaded) {
        transport = loaded;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        if (NETTY.equals(nettyPackage + ".")) {
            return super.findClass(name);
        }
        URL resource = findResource(name.replace('.', '/') + ".class");
        if (resource == null) {
            throw new ClassNotFoundException(name);
        }
        try (InputStream in = resource.openStream()) {
            byte[] relocated = ConstantPoolText.map(in.readAllBytes(), this::relocate);
            return defineClass(name, relocated, 0, relocated.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    /**
     * Relocates a text. Class names, descriptors and signatures contain slashes; names of options and properties
     * contain dots.
     */
    private String relocate(String text) {
        String dotted = text.startsWith(NETTY) ? nettyPackage + "." + text.substring(NETTY.length()) : text;
        String slashed = dotted.startsWith(NETTY_INTERNAL) ? relocatedInternal
                + dotted.substring(NETTY_INTERNAL.length()) : dotted;
        return slashed.replace("L" + NETTY_INTERNAL, "L" + relocatedInternal);
    }
}
