package io.rdmaraw.agent;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Has the transport's classes, below the class loader that has Netty. If Netty was moved to another package, they are
 * made to use it there.
 */
final class TransportLoader extends URLClassLoader {
    static {
        registerAsParallelCapable();
    }

    // Not constants of the whole names: tools that relocate Netty rewrite those.
    private static final String NETTY = String.join(".", "io", "netty") + ".";
    private static final String NETTY_INTERNAL = NETTY.replace('.', '/');

    private final String nettyPackage;
    private final String relocatedInternal;

    TransportLoader(URL[] jars, ClassLoader netty, String nettyPackage) {
        super("rdma-raw", jars, netty);
        this.nettyPackage = nettyPackage;
        relocatedInternal = nettyPackage.replace('.', '/') + "/";
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

    /** Names of classes, descriptors and signatures have slashes; the names of options and of properties, dots. */
    private String relocate(String text) {
        String dotted = text.startsWith(NETTY) ? nettyPackage + "." + text.substring(NETTY.length()) : text;
        String slashed = dotted.startsWith(NETTY_INTERNAL) ? relocatedInternal
                + dotted.substring(NETTY_INTERNAL.length()) : dotted;
        return slashed.replace("L" + NETTY_INTERNAL, "L" + relocatedInternal);
    }
}
