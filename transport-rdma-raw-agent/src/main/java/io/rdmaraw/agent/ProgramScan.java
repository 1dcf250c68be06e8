package io.rdmaraw.agent;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/** Scans a jar or a directory for classes that work only with Netty's own channels and loops. */
final class ProgramScan {
    private static final String CLASS_FILE = ".class";

    private final NettyNames names;
    private final ClassHierarchyResolver hierarchy;
    private final InterfaceMethods interfaceMethods;
    /** Classes that use the type of a channel, by internal name. */
    private final Map<String, TypeUses> usesByClass = new HashMap<>();
    private final Map<String, List<String>> parents = new HashMap<>();
    /** Classes in {@link #usesByClass} that cannot be rewritten, with the reason. */
    private final Map<String, String> notRewritable = new HashMap<>();
    private String reason;

    ProgramScan(NettyNames names, ClassLoader loader) {
        this.names = names;
        hierarchy = hierarchy(loader);
        interfaceMethods = new InterfaceMethods(loader::getResourceAsStream);
    }

    /** Returns a resolver that reads class files and loads no class. */
    static ClassHierarchyResolver hierarchy(ClassLoader loader) {
        return ClassHierarchyResolver.ofResourceParsing(loader).orElse(ClassHierarchyResolver.defaultResolver())
                .cached();
    }

    /** Returns why a program with the classes of this location has to stay on the kernel's transports, or null. */
    String refusalReason(URL location) {
        try {
            read(location);
        } catch (IOException e) {
            // The location cannot be listed; its classes are checked when they are loaded.
            return null;
        }
        usesByClass.forEach(this::compare);
        return reason;
    }

    private void read(URL location) throws IOException {
        if (location.getProtocol().equals("file")) {
            Path path = Path.of(URI.create(location.toString()));
            if (Files.isDirectory(path)) {
                readDirectory(path);
            } else {
                try (JarFile jar = new JarFile(path.toFile())) {
                    readJar(jar);
                }
            }
        } else if (location.openConnection() instanceof JarURLConnection connection) {
            // Not closed, because the class loader shares this file.
            readJar(connection.getJarFile());
        }
    }

    private void readDirectory(Path directory) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(directory)) {
            files = all.filter(file -> file.toString().endsWith(CLASS_FILE)).toList();
        }
        for (Path file : files) {
            scanClass(Files.readAllBytes(file));
        }
    }

    private void readJar(JarFile jar) throws IOException {
        for (JarEntry entry : Collections.list(jar.entries())) {
            if (entry.getName().endsWith(CLASS_FILE)) {
                try (InputStream in = jar.getInputStream(entry)) {
                    scanClass(in.readAllBytes());
                }
            }
        }
    }

    private void scanClass(byte[] bytes) {
        if (reason != null || !names.mayReferToType(new String(bytes, StandardCharsets.ISO_8859_1))) {
            return;
        }
        try {
            ClassModel model = ClassFile.of().parse(bytes);
            String name = model.thisClass().asInternalName();
            if (names.isTransport(name.replace('/', '.'))) {
                return;
            }
            TypeUses uses = new TypeUses(names, model);
            usesByClass.put(name, uses);
            List<String> supertypes = new ArrayList<>();
            model.superclass().ifPresent(type -> supertypes.add(type.asInternalName()));
            model.interfaces().forEach(type -> supertypes.add(type.asInternalName()));
            parents.put(name, supertypes);
            try {
                new CallerRewriter(names, bytes, hierarchy, interfaceMethods).rewrite();
            } catch (CallerRewriter.NotRewritableException e) {
                notRewritable.put(name, e.getMessage());
                if (e.needsNettyTypes) {
                    addReason(name, e.getMessage());
                }
            }
        } catch (RuntimeException | LinkageError e) {
            // The class refers to missing classes. If it is loaded nevertheless, the agent checks it then.
        }
    }

    private void addReason(String name, String why) {
        if (reason == null) {
            reason = name.replace('/', '.') + ": " + why;
        }
    }

    /**
     * Compares a class with the classes that it uses. If two classes share a member with the type of a channel, either
     * both or none of them must be rewritten.
     */
    private void compare(String name, TypeUses uses) {
        for (String owner : uses.references()) {
            if (isOnlyOneRewritable(name, owner)) {
                addReason(name, "it uses a member of " + owner.replace('/', '.')
                        + " whose type is a channel of Netty's own");
            }
        }
        Set<String> methods = uses.overridable();
        for (String parent : parents.get(name)) {
            if (isOnlyOneRewritable(name, parent)
                    && usesByClass.get(parent).overridable().stream().anyMatch(methods::contains)) {
                addReason(name, "it overrides a method of " + parent.replace('/', '.')
                        + " whose type is a channel of Netty's own");
            }
        }
    }

    private boolean isOnlyOneRewritable(String name, String other) {
        return usesByClass.containsKey(other) && notRewritable.containsKey(name) != notRewritable.containsKey(other);
    }
}
