package io.rdmaraw.agent;

import java.io.InputStream;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.instrument.ClassFileTransformer;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;
import java.util.List;
import java.util.function.Function;

/** Has each class that uses a transport of Netty's rewritten as it is loaded. Any thread. */
final class CallerTransformer implements ClassFileTransformer {
    private final List<NettyNames> nettys;
    private final AgentReport report;

    CallerTransformer(List<NettyNames> nettys, AgentReport report) {
        this.nettys = nettys;
        this.report = report;
    }

    @Override
    public byte[] transform(Module module, ClassLoader loader, String internalName, Class<?> redefined,
            ProtectionDomain domain, byte[] bytes) {
        if (loader == null || internalName == null || redefined != null || loader instanceof TransportLoader
                || internalName.startsWith("io/rdmaraw/")) {
            return null;
        }
        // A search that the JVM does by vector instructions, for most classes have nothing of Netty.
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        for (NettyNames names : nettys) {
            if (text.contains(names.internalPrefix())) {
                return rewrite(names, loader, internalName.replace('/', '.'), bytes);
            }
        }
        return null;
    }

    private byte[] rewrite(NettyNames names, ClassLoader loader, String className, byte[] bytes) {
        try {
            if (names.isForeignHandler(className)) {
                return HandlerRewriter.rewrite(names, bytes);
            }
            if (names.isTransport(className)) {
                return null;
            }
            Function<String, InputStream> resources = loader::getResourceAsStream;
            ClassHierarchyResolver hierarchy = ClassHierarchyResolver.ofResourceParsing(loader)
                    .orElse(ClassHierarchyResolver.defaultResolver()).cached();
            byte[] rewritten = new CallerRewriter(names, bytes, hierarchy, new InterfaceMethods(resources)).rewrite();
            if (rewritten != null) {
                report.rewritten(className);
            }
            return rewritten;
        } catch (CallerRewriter.LeftAsItIs e) {
            report.leftAsItIs(className, e.getMessage());
        } catch (RuntimeException | LinkageError e) {
            // An exception here would be lost: the JVM loads the class unchanged and says nothing.
            report.leftAsItIs(className, e.toString());
        }
        return null;
    }
}
