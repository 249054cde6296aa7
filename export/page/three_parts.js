// What the page needs of three.js. three.min.js is made of it, where there is npm:
//   npm install three@0.187.0 esbuild@0.28.2
//   npx esbuild three_parts.js --bundle --minify --format=iife --global-name=THREE --legal-comments=none --outfile=three.min.js
export {
  Box3, BufferAttribute, BufferGeometry, Color, ConeGeometry, CylinderGeometry, DirectionalLight, Fog, GridHelper, Group,
  HemisphereLight, Line, LineBasicMaterial, Mesh, MeshLambertMaterial, PerspectiveCamera, Plane, PlaneGeometry, Raycaster,
  Scene, ShadowMaterial, SphereGeometry, SRGBColorSpace, Vector2, Vector3, WebGLRenderer
} from 'three'
export { OrbitControls } from 'three/addons/controls/OrbitControls.js'
export { toCreasedNormals } from 'three/addons/utils/BufferGeometryUtils.js'
