package io.rdmaraw.agent;

import java.lang.classfile.ClassHierarchyResolver;
import java.lang.instrument.ClassFileTransformer;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;
import java.util.List;

/** Rewrites classes that use one of Netty's transports when they are loaded. Thread-safe. */
final class CallerTransformer implements ClassFileTransformer {
    private final List<NettyNames> nettyNames;
    private final AgentReport report;

    CallerTransformer(List<NettyNames> nettyNames, AgentReport report) {
        this.nettyNames = nettyNames;
        this.report = report;
    }

    @Override
    public byte[] transform(Module module, ClassLoader loader, String internalName, Class<?> redefined,
            ProtectionDomain domain, byte[] bytes) {
        if (loader == null || internalName == null || redefined != null || loader instanceof TransportLoader
                || internalName.startsWith("io/rdmaraw/")) {
            return null;
        }
        // The JVM vectorizes this search, and most classes do not refer to Netty.
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        for (NettyNames names : nettyNames) {
            if (text.contains(names.internalPrefix())) {
                return rewrite(names, loader, internalName.replace('/', '.'), text, domain, bytes);
            }
        }
        return null;
    }

    private byte[] rewrite(NettyNames names, ClassLoader loader, String className, String text,
            ProtectionDomain domain, byte[] bytes) {
        NettyCopy copy = null;
        try {
            copy = NettyCopy.of(loader, names);
            if (copy == null) {
                return null;
            }
            if (!copy.isNewEnough()) {
                copy.reportRefusal(report);
                return null;
            }
            ClassHierarchyResolver hierarchy = ProgramScan.hierarchy(loader);
            if (names.isRewritten(className)) {
                return new NettyRewriter(names, hierarchy).rewrite(bytes);
            }
            if (names.isTransport(className) || !names.mayReferToType(text)) {
                return null;
            }
            copy.scan(domain, names, loader, report);
            if (copy.refusal() != null) {
                return null;
            }
            byte[] rewritten = new CallerRewriter(names, bytes, hierarchy,
                    new InterfaceMethods(loader::getResourceAsStream)).rewrite();
            if (rewritten != null) {
                report.rewritten(className);
            }
            return rewritten;
        } catch (CallerRewriter.NotRewritableException e) {
            report.notRewritten(className, e.getMessage());
            if (e.needsNettyTypes) {
                copy.refuse(className + ": " + e.getMessage(), report);
            }
        } catch (RuntimeException | LinkageError e) {
            // The JVM would ignore the exception and load the class unchanged without a message.
            report.notRewritten(className, e.toString());
            if (copy != null) {
                copy.refuse(className + ": " + e, report);
            }
        }
        return null;
    }
}
