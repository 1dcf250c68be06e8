// Says which links of a folder of pages lead nowhere: to a file or an anchor that is not there. Of the Javadoc, which
// javadoc itself checks, only what the other pages link to.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const site = process.argv[2]
const pages = readdirSync(site, { recursive: true }).map(name => join(site, name))
  .filter(name => name.endsWith('.html') && !name.startsWith(join(site, 'javadoc')))
const anchors = new Map()
const wrong = []
let links = 0

function anchorsOf(file) {
  if (!anchors.has(file)) {
    anchors.set(file, new Set([...readFileSync(file, 'utf8').matchAll(/\s(?:id|name)="([^"]+)"/g)].map(found => found[1])))
  }
  return anchors.get(file)
}

for (const page of pages) {
  for (const [, link] of readFileSync(page, 'utf8').matchAll(/\s(?:href|src)="([^"]+)"/g)) {
    if (/^[a-z]+:/.test(link)) {
      continue
    }
    links++
    const [path, anchor] = link.replaceAll('&amp;', '&').split('#').map(decodeURIComponent)
    let file = path === '' ? page : join(path.startsWith('/') ? site : dirname(page), path)
    if (existsSync(file) && statSync(file).isDirectory()) {
      file = join(file, 'index.html')
    }
    if (!existsSync(file) || anchor && file.endsWith('.html') && !anchorsOf(file).has(anchor)) {
      wrong.push(`${relative(site, page)}: ${link}`)
    }
  }
}
wrong.forEach(each => console.log(each))
console.log(`${links} links of ${pages.length} pages, ${wrong.length} lead nowhere`)
process.exit(wrong.length === 0 && links > pages.length ? 0 : 1)
